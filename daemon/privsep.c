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
#include "opener/client.h"
#include "opener/daemon-jail.h"
#include "process/privileges.h"

#define REAP_MIN_USEC UINT64_C(10000)
#define REAP_MAX_USEC USEC_PER_SEC

struct split {
    struct opener *opener;      /* NULL: this process has no opener */
    struct name_reader *reader; /* NULL: there is no reader of state files */
    struct user user;           /* who this process becomes in split_drop() */
    sd_event_source *source, *reaper, *reader_source;
    int reader_pidfd;
    uint64_t reap_usec; /* wait before the next attempt to reap the opener */
    void (*on_change)(void *userdata);
    void *userdata;
};

DEFINE_CLEANUP(struct split *, split_free);

static int start_opener(struct split *split, const struct options *options, const struct config *config,
                        struct sys *sys, struct error *error)
{
    _cleanup_(opener_permissions_done) struct opener_permissions permissions = {0};

    int r = user_choose(config->user, &split->user, error);
    if (r == 0)
        r = permissions_from_config(sys, config, settings_file(options), &permissions, error);
    permissions.state_files = split->reader;
    if (r == 0)
        r = opener_start(sys, &permissions, &split->user, split->reader ? split->reader->files : -1, &split->opener,
                         error);
    if (r == 0 && split->reader) /* from now on only the opener sends files to the reader */
        close(steal_fd(&split->reader->files));
    if (r == 0)
        log_debug("counters are opened by process %d", (int)split->opener->child.pid);
    return r;
}

int split_new(const struct options *options, const struct config *config, struct sys *sys, struct name_reader *reader,
              struct split **ret, struct error *error)
{
    _cleanup_(split_freep) struct split *split = calloc(1, sizeof(*split));

    if (!split)
        return error_oom(error);
    split->reader = reader;
    split->reader_pidfd = -1;
    if (!options->no_opener && capabilities_are_privileged()) {
        int r = start_opener(split, options, config, sys, error);
        if (r < 0)
            return r;
    }
    *ret = steal(split);
    return 0;
}

int split_drop(struct split *split, struct error *error)
{
    bool filtered = false;

    if (!split->opener)
        return 0;
    int r = daemon_jail_enter(&split->user, &filtered, error);
    if (r < 0)
        return r;
    log_debug("this process is user %u, without capabilities", split->user.uid);
    if (!filtered || !split->opener->filtered)
        log_warning("system calls are not filtered: this kernel has no CONFIG_SECCOMP_FILTER");
    return 0;
}

struct split *split_free(struct split *split)
{
    if (!split)
        return NULL;
    sd_event_source_disable_unref(split->source);
    sd_event_source_disable_unref(split->reaper);
    sd_event_source_disable_unref(split->reader_source);
    closep(&split->reader_pidfd);
    opener_free(split->opener);
    free(split);
    return NULL;
}

/* A killed opener may end much later if it hangs in the kernel or is traced by a debugger. */
static int split_on_reaper(sd_event_source *source, uint64_t usec, void *userdata)
{
    struct split *split = userdata;

    (void)usec;
    if (opener_reap(split->opener))
        return 0;
    split->reap_usec = MIN(2 * split->reap_usec, REAP_MAX_USEC);
    return timer_arm_in(source, split->reap_usec);
}

static void split_lose_opener(struct split *split)
{
    sd_event *event = sd_event_source_get_event(split->source);

    split->reap_usec = REAP_MIN_USEC;
    if (!opener_kill(split->opener))
        timer_start(event, split->reap_usec, 0, split_on_reaper, split, &split->reaper);
    split->source = sd_event_source_disable_unref(split->source);
}

static int split_on_readable(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
    struct split *split = userdata;
    int r = opener_take_late_reply(split->opener);

    (void)source;
    (void)fd;
    (void)events;
    if (r == 0)
        return 0;
    if (r < 0)
        split_lose_opener(split);
    split->on_change(split->userdata);
    return 0;
}

static int split_on_reader_end(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
    struct split *split = userdata;
    pid_t pid = split->reader->child.pid;
    char end[128];
    int status = 0;

    (void)source;
    (void)fd;
    (void)events;
    if (!child_reap(&split->reader->child, &status))
        return 0;
    child_describe_end(pid, status, end, sizeof(end));
    log_warning(
        "the reader of containers' names is gone: %s; known containers keep their names, and new ones are named "
        "by their cgroup paths; restart perfcountd",
        end);
    split->reader_source = sd_event_source_disable_unref(split->reader_source);
    return 0;
}

static int split_watch_reader(struct split *split, sd_event *event)
{
    if (!split->reader || split->reader->child.pid <= 0)
        return 0;
    split->reader_pidfd = (int)syscall(SYS_pidfd_open, split->reader->child.pid, 0);
    if (split->reader_pidfd < 0) /* a container's seccomp filter may forbid it; then the reader's end is not logged */
        return 0;
    return sd_event_add_io(event, &split->reader_source, split->reader_pidfd, EPOLLIN, split_on_reader_end, split);
}

/* Each request waits for its own reply, so what arrives here is a late reply or the end of the opener. */
int split_watch(struct split *split, sd_event *event, void (*on_change)(void *userdata), void *userdata)
{
    int r = split_watch_reader(split, event);

    if (r < 0 || !split->opener)
        return r;
    split->on_change = on_change;
    split->userdata = userdata;
    return sd_event_add_io(event, &split->source, opener_poll_fd(split->opener), EPOLLIN, split_on_readable, split);
}

int split_check(const struct split *split, struct error *error)
{
    if (!split->opener || opener_client_check(&split->opener->client) != -ETIMEDOUT)
        return 0;
    return error_set(error, -ETIMEDOUT,
                     "the opener does not answer, and nothing could be opened; reload again when it does; if it never "
                     "does, restart perfcountd");
}

bool split_is_lost(const struct split *split)
{
    return split->opener && split->opener->client.lost;
}

void split_describe_end(const struct split *split, char *text, size_t size)
{
    opener_describe_end(split->opener, text, size);
}

const struct child *split_opener(const struct split *split)
{
    return split->opener ? &split->opener->child : NULL;
}

uid_t split_opener_user(const struct split *split)
{
    return split->opener ? split->opener->user : geteuid();
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

json_t *split_json(const struct split *split)
{
    if (!split->opener)
        return json_pack("{s:s, s:n, s:o, s:n}", "state", "none", "pid", "capabilities",
                         capabilities_json(capabilities_own()), "filtered");
    if (split_is_lost(split))
        return json_pack("{s:s, s:n, s:[], s:n}", "state", "lost", "pid", "capabilities", "filtered");
    return json_pack("{s:s, s:i, s:o, s:b}", "state", split->opener->client.late ? "late" : "running", "pid",
                     (int)split->opener->child.pid, "capabilities", capabilities_json(split->opener->capabilities),
                     "filtered", split->opener->filtered);
}

json_t *split_reader_json(const struct split *split)
{
    if (!split->reader || split->reader->child.pid <= 0)
        return json_pack("{s:s, s:n}", "state", split->reader ? "lost" : "none", "pid");
    return json_pack("{s:s, s:i}", "state", "running", "pid", (int)split->reader->child.pid);
}
