/* SPDX-License-Identifier: Apache-2.0 */
#include "sampler/rings.h"

#include <inttypes.h>
#include <sys/epoll.h>

#include "base/cleanup.h"
#include "base/number.h"
#include "perf/reason.h"

static struct lane *lane_free(struct lane *lane);

/* --- lane --- */

DEFINE_CLEANUP(struct lane *, lane_free);

static struct lane *lane_free(struct lane *lane)
{
    if (!lane)
        return NULL;
    sd_event_source_disable_unref(lane->io);
    ring_free(lane->ring);
    /* Siblings before their leader; the owner of the ring last. */
    while (lane->n_fds > 0)
        lane->sys->close(lane->sys, lane->fds[--lane->n_fds]);
    free(lane->fds);
    free(lane->ids);
    free(lane);
    return NULL;
}

/* Takes `fd`; closes it on failure. */
static int lane_add_fd(struct lane *lane, int fd)
{
    struct sys *sys = lane->sys;
    uint64_t id;
    int r = array_grow(&lane->fds, lane->n_fds);

    if (r == 0)
        r = array_grow(&lane->ids, lane->n_fds);
    if (r == 0)
        r = sys->ioctl(sys, fd, PERF_EVENT_IOC_ID, (unsigned long)&id);
    if (r < 0) {
        sys->close(sys, fd);
        return r;
    }
    lane->fds[lane->n_fds] = fd;
    lane->ids[lane->n_fds++] = id;
    return 0;
}

/* Opens all events of a group or none. `thread` 0: the CPU, or the cgroup of the spec on it. */
static int lane_open_group(struct lane *lane, const struct spec *spec, pid_t thread)
{
    struct sys *sys = lane->sys;
    size_t before = lane->n_fds;
    int fds[GROUP_MEMBERS_MAX], r = 0;
    const struct sys_group group = {
        .attrs = lane->group.attrs,
        .texts = lane->group.texts,
        .n = lane->group.n,
        .pid = thread ? thread : spec->cgroup_fd,
        .cpu = (int)lane->cpu,
        .leader = -1,
        .flags = PERF_FLAG_FD_CLOEXEC | (spec->cgroup ? PERF_FLAG_PID_CGROUP : 0),
        .whole = true,
    };

    sys->open_group(sys, &group, fds);
    for (size_t i = 0; i < lane->group.n; i++) {
        if (fds[i] < 0) {
            r = r < 0 ? r : fds[i];
            continue;
        }
        int added = lane_add_fd(lane, fds[i]);
        r = r < 0 ? r : added;
    }
    while (r < 0 && lane->n_fds > before)
        sys->close(sys, lane->fds[--lane->n_fds]);
    return r;
}

/* Opens the group for each thread. Threads may have exited since they were listed: -ESRCH only if all of them have. */
static int lane_open_groups(struct lane *lane, const struct spec *spec, const pid_t *threads, size_t n_threads)
{
    int r = threads ? -ESRCH : lane_open_group(lane, spec, 0);

    for (size_t i = 0; i < n_threads; i++) {
        int opened = lane_open_group(lane, spec, threads[i]);
        if (opened < 0 && opened != -ESRCH)
            return opened;
        if (opened == 0)
            r = 0;
    }
    return r;
}

/* Redirects the records of all threads to the ring of the first one, which must be mapped before. */
static int lane_share_ring(struct lane *lane, struct error *error)
{
    struct sys *sys = lane->sys;

    for (size_t i = lane->group.n; i < lane->n_fds; i += lane->group.n) {
        int r = sys->ioctl(sys, lane->fds[i], PERF_EVENT_IOC_SET_OUTPUT, (unsigned long)lane->fds[0]);
        if (r < 0)
            return error_set(error, r, "cpu %u: threads cannot share a ring: %s (%s)", lane->cpu, strerror(-r),
                             reason_name(r));
    }
    return 0;
}

static int lane_map_ring(struct lane *lane, struct error *error)
{
    size_t pages = lane->group.ring_pages;
    _cleanup_(freep) char *limit = NULL;
    int r = ring_open(lane->sys, lane->fds[0], pages, &lane->ring);

    if (r == -EPERM) {
        if (sys_read_file(lane->sys, "/proc/sys/kernel/perf_event_mlock_kb", &limit) < 0)
            limit = NULL;
        return error_set(error, r,
                         "cpu %u: a ring of %zu pages is over the limit of locked memory (EPERM): raise "
                         "kernel.perf_event_mlock_kb, which is %.16s, or RLIMIT_MEMLOCK (LimitMEMLOCK=), or lower "
                         "sampler.ring_pages",
                         lane->cpu, pages, limit ? limit : "unknown");
    }
    if (r < 0)
        return error_set(error, r, "cpu %u: a ring of %zu pages cannot be mapped: %s (%s)", lane->cpu, pages,
                         strerror(-r), reason_name(r));
    return 0;
}

static int lane_open_all(struct lane *lane, const struct machine *machine, const struct spec *spec,
                         const pid_t *threads, size_t n_threads, struct error *error)
{
    int r = lane_open_groups(lane, spec, threads, n_threads);

    if (r < 0)
        return spec_refused(spec, machine, lane->group.pmu, lane->cpu, r, error);
    r = lane_map_ring(lane, error);
    return r < 0 ? r : lane_share_ring(lane, error);
}

/* Creates a lane without opening it. Its group is empty if the CPU is not sampled. */
static int lane_new(struct sys *sys, const struct machine *machine, const struct spec *spec, unsigned cpu,
                    struct lane **ret, struct error *error)
{
    _cleanup_(lane_freep) struct lane *lane = calloc(1, sizeof(*lane));
    int r = 0;

    if (!lane)
        return error_oom(error);
    lane->sys = sys;
    lane->cpu = cpu;
    if (cpuset_has(&spec->cpus, cpu))
        r = spec_bind(spec, sys, machine, cpu, &lane->group, error);
    if (r < 0)
        return r;
    lane->samples = lane->group.n > 0;
    *ret = steal(lane);
    return 0;
}

/*
 * Opens the spec's events on one CPU, disabled, for the `threads` of its process (NULL if the spec has no process).
 * *ret is NULL if the CPU is not sampled or has none of the events. Returns with a sentence: errors of spec_bind(),
 * spec_refused() and ring_open(), -ENOMEM.
 */
static int lane_open(struct sys *sys, const struct machine *machine, const struct spec *spec, unsigned cpu,
                     const pid_t *threads, size_t n_threads, struct lane **ret, struct error *error)
{
    _cleanup_(lane_freep) struct lane *lane = NULL;

    int r = lane_new(sys, machine, spec, cpu, &lane, error);
    if (r == 0 && lane->samples)
        r = lane_open_all(lane, machine, spec, threads, n_threads, error);
    if (r < 0)
        return r;
    *ret = lane->samples ? steal(lane) : NULL;
    return 0;
}

/*
 * Opens a lane that only tracks, disabled. *ret is NULL if the CPU is sampled or the spec needs no tracking. Returns
 * the errors of lane_open().
 */
static int lane_open_tracking(struct sys *sys, const struct machine *machine, const struct spec *spec, unsigned cpu,
                              struct lane **ret)
{
    _cleanup_(lane_freep) struct lane *lane = NULL;

    int r = lane_new(sys, machine, spec, cpu, &lane, NULL);
    bool tracks = r == 0 && !lane->samples && spec_tracks(spec);
    if (tracks) {
        spec_bind_tracking(spec, &lane->group);
        r = lane_open_all(lane, machine, spec, NULL, 0, NULL);
    }
    if (r < 0)
        return r;
    *ret = tracks ? steal(lane) : NULL;
    return 0;
}

/* Enables or disables all events. Returns errors of ioctl(2). */
static int lane_enable(struct lane *lane, bool enabled)
{
    unsigned long request = enabled ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE;
    struct sys *sys = lane->sys;
    int r = 0;

    for (size_t i = 0; i < lane->n_fds && r >= 0; i += lane->group.n)
        r = sys->ioctl(sys, lane->fds[i], request, PERF_IOC_FLAG_GROUP);
    return MIN(r, 0);
}

int lane_peek(struct lane *lane, const struct record_layout *layout, uint64_t *malformed)
{
    const struct perf_event_header *header;

    while (!lane->has_record) {
        int r = ring_next(lane->ring, &header);
        if (r == -EBADMSG) { /* the ring was corrupt, and its whole content was dropped */
            (*malformed)++;
            continue;
        }
        if (r < 0 || !header)
            return MIN(r, 0);
        lane->has_record = record_decode(header, header->size, layout, &lane->record) == 0;
        if (!lane->has_record) {
            (*malformed)++;
            ring_take(lane->ring);
        }
    }
    return 1;
}

void lane_take(struct lane *lane)
{
    lane->has_record = false;
    ring_take(lane->ring);
}

/* Returns the room of taken records to the kernel. A record that was decoded but not taken will be decoded again. */
static void lane_release(struct lane *lane)
{
    lane->has_record = false;
    ring_release(lane->ring);
}

/* --- lane set --- */

/* The threads of the spec's process. */
struct threads {
    pid_t *tids; /* NULL if the spec has no process */
    size_t n;
};

static void threads_done(struct threads *threads)
{
    free(threads->tids);
}

/* The caller calls threads_done() even on failure. */
static int threads_list(struct threads *threads, struct sys *sys, const struct spec *spec, struct error *error)
{
    char path[64], **names;
    uint64_t tid;
    size_t n;

    *threads = (struct threads){0};
    if (!spec->pid)
        return 0;
    snprintf(path, sizeof(path), "/proc/%" PRIu32 "/task", spec->pid);
    int r = sys_list_directory(sys, path, &names, &n);
    if (r < 0)
        return error_set(error, -ENOENT, "there is no process %" PRIu32, spec->pid);
    threads->tids = calloc(MAX(n, 1), sizeof(*threads->tids));
    for (size_t i = 0; i < n && threads->tids; i++)
        if (number_parse_u64(names[i], &tid) == 0)
            threads->tids[threads->n++] = (pid_t)tid;
    strings_free(names, n);
    if (!threads->tids)
        return error_oom(error);
    size_t descriptors = threads->n * cpuset_count(&spec->cpus) * (spec->read ? spec->events.n : 1);
    if (descriptors > LANE_SET_DESCRIPTORS_MAX)
        return error_set(error, -EINVAL,
                         "process %" PRIu32 " has %zu threads, which need %zu descriptors on these CPUs; the limit is "
                         "%d: ask for fewer CPUs, or for the cgroup of the process",
                         spec->pid, threads->n, descriptors, LANE_SET_DESCRIPTORS_MAX);
    return 0;
}

static void lane_set_close(struct lane_set *set)
{
    while (set->n > 0)
        lane_free(set->lanes[--set->n]);
}

void lane_set_done(struct lane_set *set)
{
    lane_set_close(set);
    free(set->lanes);
    set->lanes = NULL;
}

bool lane_set_samples(const struct lane_set *set)
{
    for (size_t i = 0; i < set->n; i++)
        if (set->lanes[i]->samples)
            return true;
    return false;
}

static bool lane_set_has_cpu(const struct lane_set *set, unsigned cpu)
{
    for (size_t i = 0; i < set->n; i++)
        if (set->lanes[i]->cpu == cpu)
            return true;
    return false;
}

/* Takes `lane` even on failure. Does nothing if it is NULL. */
static int lane_set_add(struct lane_set *set, struct lane *lane, struct error *error)
{
    if (!lane)
        return 0;
    if (array_grow(&set->lanes, set->n) < 0) {
        lane_free(lane);
        return error_oom(error);
    }
    set->lanes[set->n++] = lane;
    int r = sd_event_add_io(set->event, &lane->io, lane->fds[0], EPOLLIN, set->on_ring, set->userdata);
    if (r < 0)
        return error_set(error, r, "cpu %u: the event loop cannot watch the ring: %s", lane->cpu, strerror(-r));
    set->layout = record_layout_of(&lane->group.attrs[0]);
    return set->enabled ? lane_enable(lane, true) : 0;
}

static int lane_set_open_sampling(struct lane_set *set, const struct machine *machine, bool all, struct error *error)
{
    _cleanup_(threads_done) struct threads threads;
    struct lane *lane;

    int r = threads_list(&threads, set->sys, set->spec, error);
    CPUSET_FOREACH (cpu, &machine->online) {
        if (r < 0)
            break;
        if (lane_set_has_cpu(set, (unsigned)cpu))
            continue;
        r = lane_open(set->sys, machine, set->spec, (unsigned)cpu, threads.tids, threads.n, &lane, error);
        if (r == 0)
            r = lane_set_add(set, lane, error);
        if (!all)
            r = 0;
    }
    return r;
}

/* Skips CPUs that cannot be tracked: of processes that start there, only what /proc listed is known. */
static void lane_set_open_tracking(struct lane_set *set, const struct machine *machine)
{
    struct lane *lane;

    CPUSET_FOREACH (cpu, &machine->online)
        if (!lane_set_has_cpu(set, (unsigned)cpu) &&
            lane_open_tracking(set->sys, machine, set->spec, (unsigned)cpu, &lane) == 0)
            lane_set_add(set, lane, NULL);
}

/* Sampling lanes are opened first, since locked memory is limited. */
int lane_set_open(struct lane_set *set, const struct machine *machine, bool all, struct error *error)
{
    int r = lane_set_open_sampling(set, machine, all, error);

    if (r == 0)
        lane_set_open_tracking(set, machine);
    return r;
}

void lane_set_close_left(struct lane_set *set, const struct machine *machine, const struct cpuset *left)
{
    size_t n = 0;

    for (size_t i = 0; i < set->n; i++) {
        unsigned cpu = set->lanes[i]->cpu;
        if (cpuset_has(&machine->online, cpu) && !(left && cpuset_has(left, cpu)))
            set->lanes[n++] = set->lanes[i];
        else
            lane_free(set->lanes[i]);
    }
    set->n = n;
}

bool lane_set_close_tracking(struct lane_set *set)
{
    size_t n = 0, before = set->n;

    for (size_t i = 0; i < before; i++)
        if (set->lanes[i]->samples)
            set->lanes[n++] = set->lanes[i];
        else
            lane_free(set->lanes[i]);
    set->n = n;
    return n < before;
}

int lane_set_enable(struct lane_set *set, bool enabled)
{
    int r = 0;

    set->enabled = enabled;
    for (size_t i = 0; i < set->n; i++) {
        int error = lane_enable(set->lanes[i], enabled);
        r = r < 0 || !enabled ? r : error;
    }
    return r;
}

struct lane *lane_set_oldest(struct lane_set *set, uint64_t until_ns, uint64_t *ret_next_ns)
{
    struct lane *oldest = NULL;
    uint64_t next = until_ns;

    for (size_t i = 0; i < set->n; i++) {
        struct lane *lane = set->lanes[i];
        if (!lane_set_is_due(set, lane, until_ns))
            continue;
        if (!oldest || lane->record.id.time < oldest->record.id.time) {
            next = oldest ? oldest->record.id.time : next;
            oldest = lane;
        } else if (lane->record.id.time < next) {
            next = lane->record.id.time;
        }
    }
    *ret_next_ns = next;
    return oldest;
}

void lane_set_release(struct lane_set *set)
{
    for (size_t i = 0; i < set->n; i++)
        lane_release(set->lanes[i]);
}
