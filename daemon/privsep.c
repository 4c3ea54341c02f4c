/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/privsep.h"

#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/timer.h"
#include "daemon/log.h"
#include "daemon/session.h"
#include "process/privileges.h"
#include "process/sandbox.h"

#define REAP_MIN_USEC UINT64_C(10000)
#define REAP_MAX_USEC USEC_PER_SEC

struct privsep {
    struct opener *opener;      /* the opener, or NULL if this process has no opener */
    struct name_reader *reader; /* the reader of state files, or NULL */
    struct user user;           /* the user that this process switches to in privsep_drop() */
    sd_event_source *source, *reaper, *reader_source;
    int reader_pidfd;
    uint64_t reap_usec; /* wait before the next attempt to reap the opener */
    void (*on_change)(void *userdata);
    void *userdata;
};

DEFINE_CLEANUP(struct privsep *, privsep_free);

static int start_opener(struct privsep *privsep, const struct options *options, const struct config *config,
                        const struct privileged_calls *calls, struct error *error)
{
    _cleanup_(opener_permissions_done) struct opener_permissions permissions = {0};

    int r = user_choose(config->user, &privsep->user, error);
    if (r == 0)
        r = permissions_from_config(calls->sys, config, settings_file(options), &permissions, error);
    permissions.state_files = privsep->reader;
    if (r == 0)
        r = opener_start(calls, &permissions, &privsep->user, privsep->reader ? privsep->reader->files : -1,
                         &privsep->opener, error);
    if (r == 0 && privsep->reader) /* from now on, only the opener sends files to the reader */
        close(steal_fd(&privsep->reader->files));
    if (r == 0)
        log_debug("counters are opened by process %d", (int)privsep->opener->child.pid);
    return r;
}

int privsep_new(const struct options *options, const struct config *config, const struct privileged_calls *calls,
                struct name_reader *reader, struct privsep **ret, struct error *error)
{
    _cleanup_(privsep_freep) struct privsep *privsep = calloc(1, sizeof(*privsep));

    if (!privsep)
        return error_oom(error);
    privsep->reader = reader;
    privsep->reader_pidfd = -1;
    if (!options->no_opener && capabilities_are_privileged()) {
        int r = start_opener(privsep, options, config, calls, error);
        if (r < 0)
            return r;
    }
    *ret = steal(privsep);
    return 0;
}

int privsep_drop(struct privsep *privsep, bool has_bound, struct error *error)
{
    const struct sandbox sandbox = {.kind = SANDBOX_DAEMON, .user = &privsep->user};
    struct sandboxed sandboxed;

    if (!privsep->opener)
        return 0;
    if (has_bound)
        bound_sockets_mark(&privsep->opener->sockets);
    bound_sockets_done(&privsep->opener->sockets);
    int r = sandbox_enter(&sandbox, &sandboxed, error);
    if (r < 0)
        return r;
    log_debug("this process is user %u, without capabilities", privsep->user.uid);
    if (!sandboxed.filtered || !privsep->opener->filtered)
        log_warning("system calls are not filtered: this kernel has no CONFIG_SECCOMP_FILTER");
    return 0;
}

struct privsep *privsep_free(struct privsep *privsep)
{
    if (!privsep)
        return NULL;
    sd_event_source_disable_unref(privsep->source);
    sd_event_source_disable_unref(privsep->reaper);
    sd_event_source_disable_unref(privsep->reader_source);
    closep(&privsep->reader_pidfd);
    opener_free(privsep->opener);
    free(privsep);
    return NULL;
}

/*
 * Tries again to reap the opener, which after SIGKILL may exit much later if it hangs in the kernel or is being
 * debugged.
 */
static int privsep_on_reaper(sd_event_source *source, uint64_t usec, void *userdata)
{
    struct privsep *privsep = userdata;

    (void)usec;
    if (opener_reap(privsep->opener))
        return 0;
    privsep->reap_usec = MIN(2 * privsep->reap_usec, REAP_MAX_USEC);
    return timer_arm_in(source, privsep->reap_usec);
}

static void privsep_lose_opener(struct privsep *privsep)
{
    sd_event *event = sd_event_source_get_event(privsep->source);

    privsep->reap_usec = REAP_MIN_USEC;
    if (!opener_kill(privsep->opener))
        timer_start(event, privsep->reap_usec, 0, privsep_on_reaper, privsep, &privsep->reaper);
    privsep->source = sd_event_source_disable_unref(privsep->source);
}

static int privsep_on_readable(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
    struct privsep *privsep = userdata;
    int r = opener_take_late_reply(privsep->opener);

    (void)source;
    (void)fd;
    (void)events;
    if (r == 0)
        return 0;
    if (r < 0)
        privsep_lose_opener(privsep);
    privsep->on_change(privsep->userdata);
    return 0;
}

static int privsep_on_reader_end(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
    struct privsep *privsep = userdata;
    pid_t pid = privsep->reader->child.pid;
    char end[128];
    int status = 0;

    (void)source;
    (void)fd;
    (void)events;
    if (!child_reap(&privsep->reader->child, &status))
        return 0;
    child_describe_end(pid, status, end, sizeof(end));
    log_warning("the reader of container names is gone: %s; known containers keep their names, and new ones are named "
                "by their cgroup paths; restart perfcountd",
                end);
    privsep->reader_source = sd_event_source_disable_unref(privsep->reader_source);
    return 0;
}

static int privsep_watch_reader(struct privsep *privsep, sd_event *event)
{
    if (!privsep->reader || privsep->reader->child.pid <= 0)
        return 0;
    privsep->reader_pidfd = (int)syscall(SYS_pidfd_open, privsep->reader->child.pid, 0);
    if (privsep->reader_pidfd < 0) /* a container's seccomp filter forbids pidfds, so the reader's exit is not logged */
        return 0;
    return sd_event_add_io(event, &privsep->reader_source, privsep->reader_pidfd, EPOLLIN, privsep_on_reader_end,
                           privsep);
}

/*
 * Watches the opener's socket. Each request waits for its own reply, so in the event loop the socket becomes readable
 * only for a late reply or when the opener has exited.
 */
int privsep_watch(struct privsep *privsep, sd_event *event, void (*on_change)(void *userdata), void *userdata)
{
    int r = privsep_watch_reader(privsep, event);

    if (r < 0 || !privsep->opener)
        return r;
    privsep->on_change = on_change;
    privsep->userdata = userdata;
    return sd_event_add_io(event, &privsep->source, opener_poll_fd(privsep->opener), EPOLLIN, privsep_on_readable,
                           privsep);
}

int privsep_check(const struct privsep *privsep, struct error *error)
{
    if (!privsep->opener || opener_client_check(&privsep->opener->client) != -ETIMEDOUT)
        return 0;
    return error_set(error, -ETIMEDOUT,
                     "the opener does not answer, and nothing could be opened; reload again when it does; if it never "
                     "does, restart perfcountd");
}

bool privsep_is_lost(const struct privsep *privsep)
{
    return privsep->opener && privsep->opener->client.lost;
}

void privsep_describe_end(const struct privsep *privsep, char *text, size_t size)
{
    opener_describe_end(privsep->opener, text, size);
}

const struct child *privsep_opener(const struct privsep *privsep)
{
    return privsep->opener ? &privsep->opener->child : NULL;
}

uid_t privsep_opener_user(const struct privsep *privsep)
{
    return privsep->opener ? privsep->opener->user : geteuid();
}

static json_t *capabilities_json(uint64_t mask)
{
    json_t *names = json_array();

    for (unsigned i = 0; i < 64; i++) {
        const char *name = mask >> i & 1 ? capability_name(i) : NULL;
        if (name)
            names = json_array_add(names, json_sprintf("cap_%s", name));
    }
    return names;
}

json_t *privsep_json(const struct privsep *privsep)
{
    if (!privsep->opener)
        return json_pack("{s:s, s:n, s:o, s:n}", "state", "none", "pid", "capabilities",
                         capabilities_json(capabilities_own()), "filtered");
    if (privsep_is_lost(privsep))
        return json_pack("{s:s, s:n, s:[], s:n}", "state", "lost", "pid", "capabilities", "filtered");
    return json_pack("{s:s, s:i, s:o, s:b}", "state", privsep->opener->client.late ? "late" : "running", "pid",
                     (int)privsep->opener->child.pid, "capabilities", capabilities_json(privsep->opener->capabilities),
                     "filtered", privsep->opener->filtered);
}

json_t *privsep_reader_json(const struct privsep *privsep)
{
    if (!privsep->reader || privsep->reader->child.pid <= 0)
        return json_pack("{s:s, s:n}", "state", privsep->reader ? "lost" : "none", "pid");
    return json_pack("{s:s, s:i}", "state", "running", "pid", (int)privsep->reader->child.pid);
}
