/* SPDX-License-Identifier: Apache-2.0 */
/* One CPU of a capture: see lane.h. */
#include "sampler/lane.h"

#include "base/cleanup.h"
#include "perf/reason.h"

DEFINE_CLEANUP(struct lane *, lane_free);

struct lane *lane_free(struct lane *lane)
{
    if (!lane)
        return NULL;
    sd_event_source_disable_unref(lane->io);
    ring_free(lane->ring);
    /* Siblings before their leader, the ring's owner last. */
    while (lane->n_fds > 0)
        lane->sys->close(lane->sys, lane->fds[--lane->n_fds]);
    free(lane->fds);
    free(lane->ids);
    free(lane);
    return NULL;
}

/* Takes the descriptor, or closes it. */
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

/* Opens one group completely, or nothing of it. */
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

/* A thread may have ended since it was listed; it is a failure only if all have. */
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

/* All threads write into the ring of the first, which is mapped already. */
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

/* With the group of the events that sample there; it is empty if there are none. */
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

int lane_open(struct sys *sys, const struct machine *machine, const struct spec *spec, unsigned cpu,
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

int lane_open_tracking(struct sys *sys, const struct machine *machine, const struct spec *spec, unsigned cpu,
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

int lane_enable(struct lane *lane, bool enabled)
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
        if (r == -EBADMSG) { /* the whole content of the ring was given up */
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

/* A record that was decoded and not taken is decoded again. */
void lane_release(struct lane *lane)
{
    lane->has_record = false;
    ring_release(lane->ring);
}
