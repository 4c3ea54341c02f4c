/* SPDX-License-Identifier: Apache-2.0 */
#include "sampler/rings.h"

#include <inttypes.h>
#include <sys/epoll.h>

#include "base/cleanup.h"
#include "base/number.h"
#include "perf/reason.h"

static struct cpu_ring *cpu_ring_free(struct cpu_ring *cpu_ring);

/* --- ring --- */

DEFINE_CLEANUP(struct cpu_ring *, cpu_ring_free);

static struct cpu_ring *cpu_ring_free(struct cpu_ring *cpu_ring)
{
    if (!cpu_ring)
        return NULL;
    sd_event_source_disable_unref(cpu_ring->io);
    ring_free(cpu_ring->ring);
    /* Closes siblings before their leader, and the event that owns the ring last. */
    while (cpu_ring->fds && cpu_ring->n_fds > 0)
        sys_close(cpu_ring->sys, cpu_ring->fds[--cpu_ring->n_fds]);
    free(cpu_ring->fds);
    free(cpu_ring->ids);
    free(cpu_ring);
    return NULL;
}

/* Adds the event descriptor `fd`, which is closed on failure. */
static int cpu_ring_add_fd(struct cpu_ring *cpu_ring, int fd)
{
    struct sys *sys = cpu_ring->sys;
    uint64_t id;
    int r = array_grow(&cpu_ring->fds, cpu_ring->n_fds);

    if (r == 0)
        r = array_grow(&cpu_ring->ids, cpu_ring->n_fds);
    if (r == 0)
        r = sys_ioctl(sys, fd, PERF_EVENT_IOC_ID, (unsigned long)&id);
    if (r < 0) {
        sys_close(sys, fd);
        return r;
    }
    cpu_ring->fds[cpu_ring->n_fds] = fd;
    cpu_ring->ids[cpu_ring->n_fds++] = id;
    return 0;
}

/*
 * Opens all events of a group, or no events on failure. If `thread` is 0, the events sample the whole CPU, or the
 * options' cgroup on the CPU.
 */
static int cpu_ring_open_group(struct cpu_ring *cpu_ring, const struct record_options *options, pid_t thread)
{
    struct sys *sys = cpu_ring->sys;
    size_t before = cpu_ring->n_fds;
    int fds[GROUP_MEMBERS_MAX], r = 0;
    const struct sys_group group = {
        .attrs = cpu_ring->group.attrs,
        .texts = cpu_ring->group.texts,
        .n = cpu_ring->group.n,
        .pid = thread ? thread : options->cgroup_fd,
        .cpu = (int)cpu_ring->cpu,
        .leader = -1,
        .flags = PERF_FLAG_FD_CLOEXEC | (options->cgroup ? PERF_FLAG_PID_CGROUP : 0),
        .whole = true,
    };

    sys_open_group(sys, &group, fds);
    for (size_t i = 0; i < cpu_ring->group.n; i++) {
        if (fds[i] < 0) {
            r = r < 0 ? r : fds[i];
            continue;
        }
        int added = cpu_ring_add_fd(cpu_ring, fds[i]);
        r = r < 0 ? r : added;
    }
    while (r < 0 && cpu_ring->n_fds > before)
        sys_close(sys, cpu_ring->fds[--cpu_ring->n_fds]);
    return r;
}

/*
 * Opens the group for each thread. Threads that have exited since they were listed are skipped. Returns -ESRCH only if
 * all threads have exited.
 */
static int cpu_ring_open_groups(struct cpu_ring *cpu_ring, const struct record_options *options, const pid_t *threads,
                                size_t n_threads)
{
    int r = threads ? -ESRCH : cpu_ring_open_group(cpu_ring, options, 0);

    for (size_t i = 0; i < n_threads; i++) {
        int opened = cpu_ring_open_group(cpu_ring, options, threads[i]);
        if (opened < 0 && opened != -ESRCH)
            return opened;
        if (opened == 0)
            r = 0;
    }
    return r;
}

/* Redirects the records of all threads to the ring of the first thread's leader, which must be mapped already. */
static int cpu_ring_share_ring(struct cpu_ring *cpu_ring, struct error *error)
{
    struct sys *sys = cpu_ring->sys;

    for (size_t i = cpu_ring->group.n; i < cpu_ring->n_fds; i += cpu_ring->group.n) {
        int r = sys_ioctl(sys, cpu_ring->fds[i], PERF_EVENT_IOC_SET_OUTPUT, (unsigned long)cpu_ring->fds[0]);
        if (r < 0)
            return error_set(error, r, "cpu %u: threads cannot share a ring: %s (%s)", cpu_ring->cpu, strerror(-r),
                             reason_name(r));
    }
    return 0;
}

static int cpu_ring_map_ring(struct cpu_ring *cpu_ring, struct error *error)
{
    size_t pages = cpu_ring->group.ring_pages;
    _cleanup_(freep) char *limit = NULL;
    bool overwritten = cpu_ring->group.attrs[0].write_backward;
    int r = (overwritten ? ring_open_overwritten : ring_open)(cpu_ring->sys, cpu_ring->fds[0], pages, &cpu_ring->ring);

    if (r == -EPERM) {
        if (sys_read_file(cpu_ring->sys, "/proc/sys/kernel/perf_event_mlock_kb", &limit) < 0)
            limit = NULL;
        return error_set(error, r,
                         "cpu %u: a ring of %zu pages exceeds the limit for locked memory (EPERM): raise "
                         "kernel.perf_event_mlock_kb, which is %.16s, or RLIMIT_MEMLOCK (LimitMEMLOCK=), or lower "
                         "sampler.ring_pages",
                         cpu_ring->cpu, pages, limit ? limit : "unknown");
    }
    if (r < 0)
        return error_set(error, r, "cpu %u: a ring of %zu pages cannot be mapped: %s (%s)", cpu_ring->cpu, pages,
                         strerror(-r), reason_name(r));
    return 0;
}

static int cpu_ring_open_all(struct cpu_ring *cpu_ring, const struct machine *machine,
                             const struct record_options *options, const pid_t *threads, size_t n_threads,
                             struct error *error)
{
    int r = cpu_ring_open_groups(cpu_ring, options, threads, n_threads);

    if (r < 0)
        return record_options_refused(options, machine, cpu_ring->group.pmu, cpu_ring->cpu, r, error);
    r = cpu_ring_map_ring(cpu_ring, error);
    return r < 0 ? r : cpu_ring_share_ring(cpu_ring, error);
}

/* Creates a ring without opening its events. The ring's group is empty if the CPU is not sampled. */
static int cpu_ring_new(struct sys *sys, const struct machine *machine, const struct record_options *options,
                        unsigned cpu, struct cpu_ring **ret, struct error *error)
{
    _cleanup_(cpu_ring_freep) struct cpu_ring *cpu_ring = calloc(1, sizeof(*cpu_ring));
    int r = 0;

    if (!cpu_ring)
        return error_oom(error);
    cpu_ring->sys = sys;
    cpu_ring->cpu = cpu;
    if (cpuset_has(&options->cpus, cpu))
        r = record_options_bind(options, sys, machine, cpu, &cpu_ring->group, error);
    if (r < 0)
        return r;
    cpu_ring->samples = cpu_ring->group.n > 0;
    *ret = steal(cpu_ring);
    return 0;
}

/*
 * Opens the options' events, disabled, on one CPU, for the threads in `threads` (NULL if the options have no process).
 * *ret is NULL if the CPU is not sampled or has none of the events. Returns these errors with a message: -ENOMEM, and
 * the errors from record_options_bind(), record_options_refused() and ring_open().
 */
static int cpu_ring_open(struct sys *sys, const struct machine *machine, const struct record_options *options,
                         unsigned cpu, const pid_t *threads, size_t n_threads, struct cpu_ring **ret,
                         struct error *error)
{
    _cleanup_(cpu_ring_freep) struct cpu_ring *cpu_ring = NULL;

    int r = cpu_ring_new(sys, machine, options, cpu, &cpu_ring, error);
    if (r == 0 && cpu_ring->samples)
        r = cpu_ring_open_all(cpu_ring, machine, options, threads, n_threads, error);
    if (r < 0)
        return r;
    *ret = cpu_ring->samples ? steal(cpu_ring) : NULL;
    return 0;
}

/*
 * Opens a disabled ring that only tracks processes. *ret is NULL if the CPU is sampled or the options need no tracking.
 * Returns the errors from cpu_ring_open().
 */
static int cpu_ring_open_tracking(struct sys *sys, const struct machine *machine, const struct record_options *options,
                                  unsigned cpu, struct cpu_ring **ret)
{
    _cleanup_(cpu_ring_freep) struct cpu_ring *cpu_ring = NULL;

    int r = cpu_ring_new(sys, machine, options, cpu, &cpu_ring, NULL);
    bool tracks = r == 0 && !cpu_ring->samples && record_options_tracks(options);
    if (tracks) {
        record_options_bind_tracking(options, &cpu_ring->group);
        r = cpu_ring_open_all(cpu_ring, machine, options, NULL, 0, NULL);
    }
    if (r < 0)
        return r;
    *ret = tracks ? steal(cpu_ring) : NULL;
    return 0;
}

/* Enables or disables all events of the ring. Returns errors from ioctl(2). */
static int cpu_ring_enable(struct cpu_ring *cpu_ring, bool enabled)
{
    unsigned long request = enabled ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE;
    struct sys *sys = cpu_ring->sys;
    int r = 0;

    for (size_t i = 0; i < cpu_ring->n_fds && r >= 0; i += cpu_ring->group.n)
        r = sys_ioctl(sys, cpu_ring->fds[i], request, PERF_IOC_FLAG_GROUP);
    return MIN(r, 0);
}

/* The clocks of any two CPUs differ by less than this. */
#define AHEAD_MAX_NS NSEC_PER_SEC

/*
 * Returns whether the record's timestamp is in the future. A timestamp in the future would delay all later records of
 * the ring until that time.
 */
static bool is_of_the_future(const struct cpu_ring *cpu_ring, uint64_t until_ns)
{
    uint64_t time = cpu_ring->record.id.time;

    return time > until_ns && time - until_ns > AHEAD_MAX_NS && time > sys_record_now(cpu_ring->sys) + AHEAD_MAX_NS;
}

int cpu_ring_peek(struct cpu_ring *cpu_ring, const struct record_layout *layout, uint64_t until_ns, uint64_t *malformed)
{
    const struct perf_event_header *header;

    while (!cpu_ring->has_record) {
        int r = ring_next(cpu_ring->ring, &header);
        if (r == -EBADMSG) { /* the ring was corrupt, so its whole content was dropped */
            (*malformed)++;
            continue;
        }
        if (r < 0 || !header)
            return MIN(r, 0);
        cpu_ring->has_record = record_decode(header, header->size, layout, &cpu_ring->record) == 0 &&
                               !is_of_the_future(cpu_ring, until_ns);
        if (!cpu_ring->has_record) {
            (*malformed)++;
            ring_take(cpu_ring->ring);
        }
    }
    return 1;
}

void cpu_ring_take(struct cpu_ring *cpu_ring)
{
    cpu_ring->has_record = false;
    ring_take(cpu_ring->ring);
}

/* Returns the space of taken records to the kernel. A record that was decoded but not taken will be decoded again. */
static void cpu_ring_release(struct cpu_ring *cpu_ring)
{
    cpu_ring->has_record = false;
    ring_release(cpu_ring->ring);
}

/* --- rings --- */

/* The thread ids of the process to sample. */
struct threads {
    pid_t *tids; /* array, or NULL if there is no process to sample */
    size_t n;
};

static void threads_done(struct threads *threads)
{
    free(threads->tids);
}

/* The caller calls threads_done() even on failure. */
static int threads_list(struct threads *threads, struct sys *sys, const struct record_options *options,
                        struct error *error)
{
    char path[64], **names;
    uint64_t tid;
    size_t n;

    *threads = (struct threads){0};
    if (!record_options_process(options))
        return 0;
    snprintf(path, sizeof(path), "/proc/%" PRIu32 "/task", options->pid);
    int r = sys_list_directory(sys, path, &names, &n);
    if (r < 0)
        return record_options_no_process(options->pid, error);
    threads->tids = calloc(MAX(n, 1), sizeof(*threads->tids));
    for (size_t i = 0; i < n && threads->tids; i++)
        if (number_parse_u64(names[i], &tid) == 0)
            threads->tids[threads->n++] = (pid_t)tid;
    strings_free(names, n);
    if (!threads->tids)
        return error_oom(error);
    size_t descriptors = threads->n * cpuset_count(&options->cpus) * (options->read ? options->events.n : 1);
    if (descriptors > RINGS_DESCRIPTORS_MAX)
        return error_set(error, -EINVAL,
                         "process %" PRIu32 " has %zu threads, which need %zu descriptors on these CPUs; the limit is "
                         "%d: ask for fewer CPUs, or for the process's cgroup",
                         options->pid, threads->n, descriptors, RINGS_DESCRIPTORS_MAX);
    return 0;
}

static void rings_close(struct rings *set)
{
    while (set->n > 0)
        cpu_ring_free(set->cpu_rings[--set->n]);
}

void rings_done(struct rings *set)
{
    rings_close(set);
    free(set->cpu_rings);
    set->cpu_rings = NULL;
}

bool rings_samples(const struct rings *set)
{
    for (size_t i = 0; i < set->n; i++)
        if (set->cpu_rings[i]->samples)
            return true;
    return false;
}

static bool rings_has_cpu(const struct rings *set, unsigned cpu)
{
    for (size_t i = 0; i < set->n; i++)
        if (set->cpu_rings[i]->cpu == cpu)
            return true;
    return false;
}

/* Adds `cpu_ring`, unless it is NULL, to the set. Takes ownership of `cpu_ring` even on failure. */
static int rings_add(struct rings *set, struct cpu_ring *cpu_ring, struct error *error)
{
    if (!cpu_ring)
        return 0;
    if (array_grow(&set->cpu_rings, set->n) < 0) {
        cpu_ring_free(cpu_ring);
        return error_oom(error);
    }
    set->cpu_rings[set->n++] = cpu_ring;
    int r = set->on_ring
                ? sd_event_add_io(set->event, &cpu_ring->io, cpu_ring->fds[0], EPOLLIN, set->on_ring, set->userdata)
                : 0;
    if (r < 0)
        return error_set(error, r, "cpu %u: the event loop cannot watch the ring: %s", cpu_ring->cpu, strerror(-r));
    set->layout = record_layout_of(&cpu_ring->group.attrs[0]);
    return set->enabled ? cpu_ring_enable(cpu_ring, true) : 0;
}

static int rings_open_sampling(struct rings *set, const struct machine *machine, bool all, struct error *error)
{
    _cleanup_(threads_done) struct threads threads;
    struct cpu_ring *cpu_ring;

    int r = threads_list(&threads, set->sys, set->options, error);
    CPUSET_FOREACH (cpu, &machine->online) {
        if (r < 0)
            break;
        if (rings_has_cpu(set, (unsigned)cpu))
            continue;
        r = cpu_ring_open(set->sys, machine, set->options, (unsigned)cpu, threads.tids, threads.n, &cpu_ring, error);
        if (r == 0)
            r = rings_add(set, cpu_ring, error);
        if (!all)
            r = 0;
    }
    return r;
}

/*
 * Opens the tracking rings, and skips CPUs that cannot be tracked. Processes that start on an untracked CPU are only
 * known if a scan of /proc finds them.
 */
static void rings_open_tracking(struct rings *set, const struct machine *machine)
{
    struct cpu_ring *cpu_ring;

    CPUSET_FOREACH (cpu, &machine->online)
        if (!rings_has_cpu(set, (unsigned)cpu) &&
            cpu_ring_open_tracking(set->sys, machine, set->options, (unsigned)cpu, &cpu_ring) == 0)
            rings_add(set, cpu_ring, NULL);
}

/* Sampling rings are opened before tracking rings, because locked memory is limited. */
int rings_open(struct rings *set, const struct machine *machine, bool all, struct error *error)
{
    int r = rings_open_sampling(set, machine, all, error);

    if (r == 0)
        rings_open_tracking(set, machine);
    return r;
}

void rings_close_offline(struct rings *set, const struct machine *machine, const struct cpuset *went_offline)
{
    size_t n = 0;

    for (size_t i = 0; i < set->n; i++) {
        unsigned cpu = set->cpu_rings[i]->cpu;
        if (cpuset_has(&machine->online, cpu) && !(went_offline && cpuset_has(went_offline, cpu)))
            set->cpu_rings[n++] = set->cpu_rings[i];
        else
            cpu_ring_free(set->cpu_rings[i]);
    }
    set->n = n;
}

bool rings_close_tracking(struct rings *set)
{
    size_t n = 0, before = set->n;

    for (size_t i = 0; i < before; i++)
        if (set->cpu_rings[i]->samples)
            set->cpu_rings[n++] = set->cpu_rings[i];
        else
            cpu_ring_free(set->cpu_rings[i]);
    set->n = n;
    return n < before;
}

int rings_enable(struct rings *set, bool enabled)
{
    int r = 0;

    set->enabled = enabled;
    for (size_t i = 0; i < set->n; i++) {
        int error = cpu_ring_enable(set->cpu_rings[i], enabled);
        r = r < 0 || !enabled ? r : error;
    }
    return r;
}

struct cpu_ring *rings_oldest(struct rings *set, uint64_t until_ns, uint64_t *ret_next_ns)
{
    struct cpu_ring *oldest = NULL;
    uint64_t next = until_ns;

    for (size_t i = 0; i < set->n; i++) {
        struct cpu_ring *cpu_ring = set->cpu_rings[i];
        if (!rings_is_due(set, cpu_ring, until_ns))
            continue;
        if (!oldest || cpu_ring->record.id.time < oldest->record.id.time) {
            next = oldest ? oldest->record.id.time : next;
            oldest = cpu_ring;
        } else if (cpu_ring->record.id.time < next) {
            next = cpu_ring->record.id.time;
        }
    }
    *ret_next_ns = next;
    return oldest;
}

void rings_release(struct rings *set)
{
    for (size_t i = 0; i < set->n; i++)
        cpu_ring_release(set->cpu_rings[i]);
}

/* --- copies --- */

/* Appends a ring whose content is read from memory. Takes `ring`. */
static int rings_add_copy(struct rings *ret, const struct cpu_ring *like, const uint64_t *ids, size_t n_ids,
                          struct ring *ring)
{
    _cleanup_(cpu_ring_freep) struct cpu_ring *copy = calloc(1, sizeof(*copy));

    if (!copy) {
        ring_free(ring);
        return -ENOMEM;
    }
    *copy = (struct cpu_ring){.sys = like->sys, .cpu = like->cpu, .samples = like->samples, .group = like->group};
    copy->ring = ring;
    /* the options may free the probe texts before this copy is freed */
    memset(copy->group.texts, 0, sizeof(copy->group.texts));
    copy->ids = malloc(MAX(n_ids, 1) * sizeof(*ids));
    if (!copy->ids || array_grow(&ret->cpu_rings, ret->n) < 0)
        return -ENOMEM;
    memcpy(copy->ids, ids, n_ids * sizeof(*ids));
    copy->n_fds = n_ids;
    ret->cpu_rings[ret->n++] = steal(copy);
    return 0;
}

static int rings_hold(struct rings *set, bool hold)
{
    int r = 0;

    for (size_t i = 0; i < set->n; i++) {
        int error = sys_ioctl(set->sys, set->cpu_rings[i]->fds[0], PERF_EVENT_IOC_PAUSE_OUTPUT, hold);
        r = r < 0 ? r : MIN(error, 0);
    }
    return r;
}

static int copy_ring(const struct cpu_ring *cpu_ring, struct rings *ret, uint64_t *since_ns)
{
    struct ring *ring;
    bool full;

    int r = ring_copy(cpu_ring->ring, &ring, &full);
    if (r == 0)
        r = rings_add_copy(ret, cpu_ring, cpu_ring->ids, cpu_ring->n_fds, ring);
    if (r == 0 && full && cpu_ring_peek(ret->cpu_rings[ret->n - 1], &ret->layout, UINT64_MAX, &ret->malformed) == 1)
        *since_ns = MAX(*since_ns, ret->cpu_rings[ret->n - 1]->record.id.time);
    return r;
}

int rings_copy(struct rings *set, const struct cpuset *cpus, struct rings *ret, uint64_t *ret_since_ns)
{
    int r = rings_hold(set, true);

    *ret_since_ns = 0;
    ret->layout = set->layout;
    for (size_t i = 0; i < set->n && r == 0; i++)
        if (cpuset_has(cpus, set->cpu_rings[i]->cpu))
            r = copy_ring(set->cpu_rings[i], ret, ret_since_ns);
    int resumed = rings_hold(set, false);
    return r < 0 ? r : resumed;
}

int rings_add_records(struct rings *ret, const struct rings *set, void *bytes, size_t size)
{
    uint64_t *ids = malloc(MAX(set->n, 1) * sizeof(*ids));
    struct ring *ring;

    for (size_t i = 0; i < set->n && ids; i++)
        ids[i] = set->cpu_rings[i]->ids[0];
    if (!ids || set->n == 0) {
        free(ids);
        free(bytes);
        return ids ? 0 : -ENOMEM;
    }
    int r = ring_of_records(bytes, size, &ring);
    if (r == 0)
        r = rings_add_copy(ret, set->cpu_rings[0], ids, set->n, ring);
    free(ids);
    return r;
}
