/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/changes.h"

#include <stdarg.h>
#include <stdio.h>
#include <sys/epoll.h>

#include "base/cleanup.h"
#include "base/timer.h"
#include "daemon/log.h"
#include "perf/machine.h"

/* --- troubles --- */

/* Message kinds for troubles. N_LOG_KINDS stands for a warning without a kind. */
static const enum log_kind kinds_of_troubles[N_TROUBLES] = {
    [TROUBLE_CPUS_UNREAD] = LOG_KIND_CHANGES_UNHEARD,
    [TROUBLE_RESCAN_FAILED] = LOG_KIND_CPUS_LOST,
    [TROUBLE_CGROUPS_UNHEARD] = LOG_KIND_CHANGES_UNHEARD,
    [TROUBLE_CHANGES_MISSED] = LOG_KIND_CHANGES_UNHEARD,
    [TROUBLE_RETRY_FAILED] = N_LOG_KINDS,
    [TROUBLE_NOT_RECORDED] = N_LOG_KINDS,
    [TROUBLE_FAILURES_UNLISTED] = LOG_KIND_EVENTS_UNAVAILABLE,
};

void trouble_set(struct troubles *troubles, enum trouble trouble, int error, const char *format, ...)
{
    enum log_kind kind = kinds_of_troubles[trouble];
    bool begins = error < 0 && !troubles->now[trouble];
    char sentence[1024];
    va_list args;

    troubles->now[trouble] = error < 0;
    if (!begins)
        return;
    va_start(args, format);
    vsnprintf(sentence, sizeof(sentence), format, args);
    va_end(args);
    if (kind == N_LOG_KINDS)
        log_warning("%s", sentence);
    else
        log_event(kind, NULL, 0, "%s", sentence);
}

bool troubles_need_retry(const struct troubles *troubles)
{
    for (enum trouble i = 0; i < N_TROUBLES; i++)
        if (troubles->now[i] && i != TROUBLE_CPUS_UNREAD)
            return true;
    return false;
}

/* --- CPU hotplug --- */

/* Minimum time between two requested checks of the online CPUs. */
#define CHECK_INTERVAL_USEC 1000000

struct hotplug {
    int fd;
    sd_event_source *io, *timer;
    uint64_t next_usec; /* earliest time (CLOCK_MONOTONIC) of the next requested check */
    void (*on_change)(void *userdata, const struct cpuset *went_offline);
    void *userdata;
};

/*
 * Receives all messages waiting in the socket. Adds the CPUs that went offline to `went_offline`, or all CPUs if
 * messages were lost. Returns whether any CPU came online or went offline.
 */
static bool hotplug_receive(int fd, struct cpuset *went_offline)
{
    enum uevent_change change;
    bool any = false;
    unsigned cpu;
    int r;

    while ((r = uevent_receive(fd, &change, &cpu)) == 0) {
        any = true;
        if (change == UEVENT_OFFLINE)
            cpuset_add(went_offline, cpu);
    }
    if (r != -ENOBUFS)
        return any;
    for (cpu = 0; cpu < CPUSET_MAX; cpu++)
        cpuset_add(went_offline, cpu);
    return true;
}

static int hotplug_on_io(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
    _cleanup_(cpuset_done) struct cpuset went_offline = {0};
    struct hotplug *hotplug = userdata;

    (void)source;
    (void)events;
    if (hotplug_receive(fd, &went_offline))
        hotplug->on_change(hotplug->userdata, &went_offline);
    return 0;
}

static int hotplug_on_timer(sd_event_source *source, uint64_t usec, void *userdata)
{
    struct hotplug *hotplug = userdata;
    struct cpuset none = {0};

    (void)source;
    hotplug->next_usec = usec + CHECK_INTERVAL_USEC;
    hotplug->on_change(hotplug->userdata, &none);
    return 0;
}

void hotplug_request_check(struct hotplug *hotplug)
{
    uint64_t now = 0;

    sd_event_now(sd_event_source_get_event(hotplug->timer), CLOCK_MONOTONIC, &now);
    timer_arm_in(hotplug->timer, hotplug->next_usec > now ? hotplug->next_usec - now : 0);
}

DEFINE_CLEANUP(struct hotplug *, hotplug_free);

int hotplug_new(sd_event *event, void (*on_change)(void *userdata, const struct cpuset *went_offline), void *userdata,
                struct hotplug **ret)
{
    _cleanup_(hotplug_freep) struct hotplug *hotplug = calloc(1, sizeof(*hotplug));

    if (!hotplug)
        return -ENOMEM;
    hotplug->on_change = on_change;
    hotplug->userdata = userdata;
    hotplug->fd = uevent_open();
    int r = hotplug->fd < 0 ? 0 : sd_event_add_io(event, &hotplug->io, hotplug->fd, EPOLLIN, hotplug_on_io, hotplug);
    if (r < 0)
        return r;
    r = timer_init(event, CLOCK_MONOTONIC, 1000, hotplug_on_timer, hotplug, &hotplug->timer);
    if (r < 0)
        return r;
    *ret = steal(hotplug);
    return 0;
}

int hotplug_listen_error(const struct hotplug *hotplug)
{
    return MIN(hotplug->fd, 0);
}

struct hotplug *hotplug_free(struct hotplug *hotplug)
{
    if (!hotplug)
        return NULL;
    sd_event_source_disable_unref(hotplug->io);
    sd_event_source_disable_unref(hotplug->timer);
    closep(&hotplug->fd);
    free(hotplug);
    return NULL;
}

/* --- descriptors of collectors --- */

struct watch {
    struct watches *all;
    size_t collector;
    sd_event_source *source;
};

/* Maximum number of watched descriptors; exceeds the number of collectors, which have at most one each. */
#define WATCHES_MAX 16

struct watches {
    sd_event *event;
    struct registry *registry;
    void (*on_change)(void *userdata, int error);
    void *userdata;
    struct watch items[WATCHES_MAX]; /* one watch for each descriptor of a collector */
    size_t n;
};

static void watches_drop(struct watches *watches)
{
    for (size_t i = 0; i < watches->n; i++)
        sd_event_source_disable_unref(watches->items[i].source);
    watches->n = 0;
}

int watches_new(sd_event *event, void (*on_change)(void *userdata, int error), void *userdata, struct watches **ret)
{
    struct watches *watches = calloc(1, sizeof(*watches));

    if (!watches)
        return -ENOMEM;
    watches->event = sd_event_ref(event);
    watches->on_change = on_change;
    watches->userdata = userdata;
    *ret = watches;
    return 0;
}

struct watches *watches_free(struct watches *watches)
{
    if (!watches)
        return NULL;
    watches_drop(watches);
    sd_event_unref(watches->event);
    free(watches);
    return NULL;
}

static int watch_on_io(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
    struct watch *watch = userdata;

    (void)source;
    (void)fd;
    (void)events;
    int r = registry_dispatch(watch->all->registry, watch->collector);
    watch->all->on_change(watch->all->userdata, r);
    return 0;
}

int watches_update(struct watches *watches, struct registry *registry)
{
    int fd, r = 0;

    watches_drop(watches);
    watches->registry = registry;
    for (size_t i = 0; watches->n < WATCHES_MAX && (fd = registry_fd(registry, i)) != -ENODEV && r >= 0; i++) {
        if (fd < 0)
            continue;
        struct watch *watch = &watches->items[watches->n++];
        *watch = (struct watch){.all = watches, .collector = i};
        r = sd_event_add_io(watches->event, &watch->source, fd, EPOLLIN, watch_on_io, watch);
    }
    return r < 0 ? r : 0;
}

/* --- retries --- */

#define WAIT_MIN_S 1
#define WAIT_MAX_S 60
/* Maximum delay of a retry, so that it can share a wakeup of the process with other timers. */
#define ACCURACY_USEC 100000

struct retry {
    sd_event_source *timer;
    void (*on_due)(void *userdata);
    void *userdata;
    unsigned wait_s; /* how long the last retry waited, in seconds; 0 before the first retry */
    bool scheduled;
};

static int retry_on_due(sd_event_source *source, uint64_t usec, void *userdata)
{
    struct retry *retry = userdata;

    (void)source;
    (void)usec;
    retry->scheduled = false;
    retry->on_due(retry->userdata);
    return 0;
}

int retry_new(sd_event *event, void (*on_due)(void *userdata), void *userdata, struct retry **ret)
{
    struct retry *retry = calloc(1, sizeof(*retry));

    if (!retry)
        return -ENOMEM;
    retry->on_due = on_due;
    retry->userdata = userdata;
    int r = timer_init(event, CLOCK_MONOTONIC, ACCURACY_USEC, retry_on_due, retry, &retry->timer);
    if (r < 0) {
        retry_free(retry);
        return r;
    }
    *ret = retry;
    return 0;
}

struct retry *retry_free(struct retry *retry)
{
    if (!retry)
        return NULL;
    sd_event_source_disable_unref(retry->timer);
    free(retry);
    return NULL;
}

void retry_restart(struct retry *retry)
{
    timer_disarm(retry->timer);
    retry->scheduled = false;
    retry->wait_s = 0;
}

unsigned retry_next(unsigned wait_s, enum reason_span span)
{
    if (span == REASON_LASTS || (span == REASON_BRIEF && wait_s >= WAIT_MAX_S))
        return 0;
    return wait_s ? MIN(2 * wait_s, WAIT_MAX_S) : WAIT_MIN_S;
}

int retry_want(struct retry *retry, enum reason_span span)
{
    unsigned wait_s = retry_next(retry->wait_s, span);

    if (span == REASON_LASTS)
        retry_restart(retry);
    if (wait_s == 0 || retry->scheduled)
        return 0;
    int r = timer_arm_in(retry->timer, wait_s * USEC_PER_SEC);
    if (r < 0)
        return r;
    retry->wait_s = wait_s;
    retry->scheduled = true;
    return 0;
}

/* --- log of failures --- */

/* One pass over the current failures. If their list is complete, `now` replaces `before`. */
struct update {
    const struct registry *registry;
    const struct failure_log *before;
    struct failure_log now;
};

/* Message kinds by the reason of a failure. Failures for other reasons concern events. */
static const struct {
    const char *reason;
    enum log_kind kind;
} kinds[] = {
    {"limit", LOG_KIND_CGROUPS_DROPPED},
    {"inotify", LOG_KIND_CGROUPS_UNSEEN},
    {"namespace", LOG_KIND_CGROUPS_UNSEEN},
    {"patterns", LOG_KIND_CGROUPS_UNSEEN},
    {FAILURE_OF_COLLECTOR, LOG_KIND_COLLECTOR_FAILED},
};

static enum log_kind kind_of(const struct failure *failure)
{
    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
        if (str_equal(kinds[i].reason, failure->reason))
            return kinds[i].kind;
    return LOG_KIND_EVENTS_UNAVAILABLE;
}

void failure_log_done(struct failure_log *failure_log)
{
    strings_free(failure_log->sentences, failure_log->n);
    *failure_log = (struct failure_log){0};
}

/* Adds the sentence to update->now. Returns 0 if update->before also contains it, 1 if it is new, or -ENOMEM. */
static int update_add(struct update *update, const char *sentence)
{
    struct failure_log *now = &update->now;
    char *copy = strdup(sentence);

    if (!copy || array_grow(&now->sentences, now->n) < 0) {
        free(copy);
        return -ENOMEM;
    }
    now->sentences[now->n++] = copy;
    for (size_t i = 0; i < update->before->n; i++)
        if (str_equal(update->before->sentences[i], sentence))
            return false;
    return true;
}

static int update_failure(void *userdata, const struct failure *first, const char *sentence)
{
    struct update *update = userdata;
    struct collector_status status = {.name = ""};
    int r = update_add(update, sentence);

    if (r <= 0)
        return r;
    registry_status(update->registry, first->collector, &status);
    const struct log_field fields[] = {
        {"collector", status.name}, {"group", first->group},   {"event", first->event},
        {"pmu", first->pmu},        {"reason", first->reason},
    };
    log_event(kind_of(first), fields, ARRAY_SIZE(fields), "%s", sentence);
    return 0;
}

void failure_log_update(struct failure_log *failure_log, const struct registry *registry, struct troubles *troubles)
{
    struct update update = {.registry = registry, .before = failure_log};
    int r = failures_visit(registry_failures(registry), update_failure, &update);

    trouble_set(troubles, TROUBLE_FAILURES_UNLISTED, r,
                "the events that cannot be counted cannot be listed: out of memory; perfcountd will retry");
    if (r < 0) {
        failure_log_done(&update.now);
        return;
    }
    failure_log_done(failure_log);
    *failure_log = update.now;
}
