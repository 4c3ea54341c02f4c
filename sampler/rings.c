/* SPDX-License-Identifier: Apache-2.0 */
/* The lanes of a capture: see lane-set.h. */
#include "sampler/rings.h"

#include <inttypes.h>
#include <sys/epoll.h>

#include "base/cleanup.h"
#include "base/number.h"

/* The threads of a process: each has events of its own on each CPU. */
struct threads {
    pid_t *tids; /* NULL: the spec has no process */
    size_t n;
};

static void threads_done(struct threads *threads)
{
    free(threads->tids);
}

/* Needs threads_done() in any case. */
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

/* Opening */

static bool lane_set_has_cpu(const struct lane_set *set, unsigned cpu)
{
    for (size_t i = 0; i < set->n; i++)
        if (set->lanes[i]->cpu == cpu)
            return true;
    return false;
}

/* Takes the lane, also if it fails; NULL is none. */
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

/* A CPU that cannot be tracked is left out: of its processes, only those are known that /proc listed. */
static void lane_set_open_tracking(struct lane_set *set, const struct machine *machine)
{
    struct lane *lane;

    CPUSET_FOREACH (cpu, &machine->online)
        if (!lane_set_has_cpu(set, (unsigned)cpu) &&
            lane_open_tracking(set->sys, machine, set->spec, (unsigned)cpu, &lane) == 0)
            lane_set_add(set, lane, NULL);
}

/* Lanes that sample come first to the memory that may be locked. */
int lane_set_open(struct lane_set *set, const struct machine *machine, bool all, struct error *error)
{
    int r = lane_set_open_sampling(set, machine, all, error);

    if (r == 0)
        lane_set_open_tracking(set, machine);
    return r;
}

/* Closing */

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

/* Records */

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
