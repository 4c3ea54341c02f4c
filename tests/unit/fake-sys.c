/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel of a simulated machine. The machines themselves are in fake-machine.c. */
#undef NDEBUG
#include <assert.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/number.h"
#include "tests/unit/fake-event.h"

struct fake_event *fake_find_event(const struct fake_sys *fake, int fd)
{
    size_t i = (size_t)fd - FAKE_FD_FIRST;
    return fd >= FAKE_FD_FIRST && i < fake->n_events ? fake->events[i] : NULL;
}

const struct perf_event_attr *fake_attr(const struct fake_sys *fake, int fd)
{
    const struct fake_event *event = fake_find_event(fake, fd);
    return event ? &event->attr : NULL;
}

/* Injected failures */

void fake_fail(struct fake_sys *fake, struct fake_failure failure)
{
    assert(fake->n_failures < ARRAY_SIZE(fake->failures));
    fake->failures[fake->n_failures++] = failure;
}

void fake_fail_no_more(struct fake_sys *fake)
{
    fake->n_failures = 0;
}

/* Counts the call, and returns the failure that fake_fail() requested for it, or NULL. */
static const struct fake_failure *ordered(struct fake_sys *fake, enum fake_call call,
                                          const struct perf_event_attr *attr, int cpu)
{
    fake->calls[call]++;
    for (size_t i = 0; i < fake->n_failures; i++) {
        struct fake_failure *failure = &fake->failures[i];
        if (failure->call != call || (failure->on_cpu && failure->cpu != cpu))
            continue;
        if (failure->on_event && (!attr || attr->type != failure->type || attr->config != failure->config))
            continue;
        if (failure->after) {
            failure->after--;
            continue;
        }
        if (failure->times && --failure->times == 0)
            failure->call = N_FAKE_CALLS; /* used up: it matches no further call */
        return failure;
    }
    return NULL;
}

bool fake_will_fail(const struct fake_sys *fake, enum fake_call call, const struct perf_event_attr *attr, int cpu)
{
    for (size_t i = 0; i < fake->n_failures; i++) {
        const struct fake_failure *failure = &fake->failures[i];
        if (failure->call == call && !failure->after && (!failure->on_cpu || failure->cpu == cpu) &&
            (!failure->on_event || (attr->type == failure->type && attr->config == failure->config)))
            return true;
    }
    return false;
}

/* perf_event_open */

static struct fake_pmu *find_pmu_for(struct fake_sys *fake, const struct perf_event_attr *attr, int cpu)
{
    bool generic = attr->type == PERF_TYPE_HARDWARE || attr->type == PERF_TYPE_HW_CACHE || attr->type == PERF_TYPE_RAW;
    uint32_t extended = generic && attr->type != PERF_TYPE_RAW ? (uint32_t)(attr->config >> 32) : 0;

    if (extended && !fake->extended_types)
        return NULL;
    for (size_t i = 0; i < fake->n_pmus; i++) {
        struct fake_pmu *pmu = &fake->pmus[i];
        bool right_type = generic && !extended ? pmu->core : pmu->type == (extended ? extended : attr->type);
        if (right_type && (cpu < 0 || cpuset_has(&pmu->cpus, (unsigned)cpu)))
            return pmu;
    }
    return NULL;
}

uint32_t fake_group_needs(const struct fake_sys *fake, const struct fake_event *leader)
{
    uint32_t n = 0;

    for (size_t i = 0; i < fake->n_events; i++)
        if (fake->events[i] && fake->events[i]->leader == leader)
            n += !fake->events[i]->pmu->software;
    return n;
}

struct fake_pmu *fake_group_pmu(const struct fake_sys *fake, const struct fake_event *leader)
{
    for (size_t i = 0; i < fake->n_events; i++) {
        const struct fake_event *event = fake->events[i];
        if (event && event->leader == leader && !event->pmu->software)
            return event->pmu;
    }
    return NULL;
}

/* Checks a new group member as perf_event_open() and the PMU drivers' validate_group() do. */
static int check_member(const struct fake_sys *fake, const struct fake_event *leader, const struct fake_pmu *pmu,
                        const struct perf_event_attr *attr, int cgroup, int cpu)
{
    const struct fake_pmu *other = fake_group_pmu(fake, leader);

    if (leader->leader != leader || leader->cpu != cpu || leader->cgroup != cgroup || attr->pinned || attr->exclusive)
        return -EINVAL;
    if (pmu->software)
        return 0;
    if (other && other != pmu)
        return -EINVAL;
    bool skipped = pmu->arm && leader->attr.disabled && !leader->attr.enable_on_exec;
    return fake_group_needs(fake, leader) + !skipped > pmu->counters ? -EINVAL : 0;
}

void fake_cgroup_remove(struct fake_sys *fake, int fd)
{
    assert(fake->n_removed_cgroups < ARRAY_SIZE(fake->removed_cgroups));
    fake->removed_cgroups[fake->n_removed_cgroups++] = fd;
}

/* Checks the cgroup as perf_cgroup_connect() does. */
static int check_cgroup(const struct fake_sys *fake, int fd, int cpu)
{
    if (cpu < 0)
        return -EINVAL;
    if (fd < 0)
        return -EBADF;
    for (size_t i = 0; i < fake->n_removed_cgroups; i++)
        if (fake->removed_cgroups[i] == fd)
            return -ENOENT;
    return 0;
}

static int fake_open(struct sys *sys, struct perf_event_attr *attr, pid_t pid, int cpu, int group_fd,
                     unsigned long flags)
{
    struct fake_sys *fake = fake_of(sys);
    const struct fake_failure *failure = ordered(fake, FAKE_OPEN, attr, cpu);
    struct fake_pmu *pmu = find_pmu_for(fake, attr, cpu);
    struct fake_event *leader = group_fd < 0 ? NULL : fake_find_event(fake, group_fd);
    int cgroup = flags & PERF_FLAG_PID_CGROUP ? pid : -1;

    if (failure)
        return -failure->error;
    if (group_fd >= 0 && !leader)
        return -EBADF;
    if (cpu >= 0 && !cpuset_has(&fake->possible, (unsigned)cpu))
        return -EINVAL;
    if (!pmu)
        return -ENOENT;
    if (cpu >= 0 && !cpuset_has(&fake->online, (unsigned)cpu))
        return -ENODEV;
    int r = flags & PERF_FLAG_PID_CGROUP ? check_cgroup(fake, pid, cpu) : 0;
    if (r == 0 && leader)
        r = check_member(fake, leader, pmu, attr, cgroup, cpu);
    if (r < 0)
        return r;
    struct fake_event *event = calloc(1, sizeof(*event));
    assert(event && array_grow(&fake->events, fake->n_events) == 0);
    *event = (struct fake_event){.attr = *attr, .cpu = cpu, .cgroup = cgroup, .pmu = pmu, .enabled = !attr->disabled};
    event->fd = FAKE_FD_FIRST + (int)fake->n_events;
    event->leader = leader ? leader : event;
    fake->events[fake->n_events++] = event;
    fake->n_open++;
    return event->fd;
}

/* Closing a leader turns each of its siblings into a group of its own. */
static void dissolve(struct fake_sys *fake, const struct fake_event *leader)
{
    for (size_t i = 0; i < fake->n_events; i++)
        if (fake->events[i] && fake->events[i]->leader == leader)
            fake->events[i]->leader = fake->events[i];
}

static int fake_close(struct sys *sys, int fd)
{
    struct fake_sys *fake = fake_of(sys);
    struct fake_event *event = fake_find_event(fake, fd);

    fake->calls[FAKE_CLOSE]++;
    if (!event)
        return -EBADF;
    assert(!event->page);
    dissolve(fake, event);
    fake->events[fd - FAKE_FD_FIRST] = NULL;
    fake->n_open--;
    free(event);
    return 0;
}

static int fake_mmap(struct sys *sys, int fd, size_t size, int protection, void **ret)
{
    struct fake_sys *fake = fake_of(sys);
    struct fake_event *event = fake_find_event(fake, fd);
    const struct fake_failure *failure = ordered(fake, FAKE_MMAP, event ? &event->attr : NULL, event ? event->cpu : -1);

    (void)protection;
    if (failure)
        return -failure->error;
    if (!event || event->page || size < sizeof(*event->page))
        return -EINVAL;
    event->page = calloc(1, size);
    assert(event->page);
    fake->n_mapped++;
    fake_update_page(fake, event);
    *ret = event->page;
    return 0;
}

static int fake_munmap(struct sys *sys, void *address, size_t size)
{
    struct fake_sys *fake = fake_of(sys);

    (void)size;
    for (size_t i = 0; i < fake->n_events; i++)
        if (fake->events[i] && fake->events[i]->page == address) {
            free(address);
            fake->events[i]->page = NULL;
            fake->n_mapped--;
            return 0;
        }
    return -EINVAL;
}

/* read and ioctl */

/* Fills in `format_data` as perf_event_open(2), "Reading results", specifies. */
static size_t layout(const struct fake_sys *fake, const struct fake_event *event, uint64_t *words, size_t max)
{
    uint64_t format = event->attr.read_format;
    size_t n = 0;

    if (format & PERF_FORMAT_GROUP)
        words[n++] = 0;
    else
        words[n++] = event->count;
    if (format & PERF_FORMAT_TOTAL_TIME_ENABLED)
        words[n++] = event->time_enabled;
    if (format & PERF_FORMAT_TOTAL_TIME_RUNNING)
        words[n++] = event->time_running;
    if (!(format & PERF_FORMAT_GROUP) && (format & PERF_FORMAT_ID))
        words[n++] = (uint64_t)event->fd;
    for (size_t i = 0; format & PERF_FORMAT_GROUP && i < fake->n_events; i++) {
        const struct fake_event *member = fake->events[i];
        /*
         * Reading a sibling returns the sibling alone. Reading a leader returns the whole group. The leader comes
         * first, since it was opened first.
         */
        if (!member || (member != event && member->leader != event))
            continue;
        assert(n + 2 <= max);
        words[0]++;
        words[n++] = member->count;
        if (format & PERF_FORMAT_ID)
            words[n++] = (uint64_t)member->fd;
    }
    return n * sizeof(words[0]);
}

static ssize_t fake_read(struct sys *sys, int fd, void *buffer, size_t size)
{
    struct fake_sys *fake = fake_of(sys);
    const struct fake_event *event = fake_find_event(fake, fd);
    const struct fake_failure *failure = ordered(fake, FAKE_READ, event ? &event->attr : NULL, event ? event->cpu : -1);
    uint64_t words[256];

    if (failure)
        return -failure->error;
    if (!event)
        return -EBADF;
    size_t needed = layout(fake, event, words, ARRAY_SIZE(words));
    if (size < needed)
        return -ENOSPC;
    memcpy(buffer, words, needed);
    return (ssize_t)needed;
}

static int control(struct fake_event *event, unsigned long request)
{
    switch (request) {
    case PERF_EVENT_IOC_ENABLE:
        event->enabled = true;
        return 0;
    case PERF_EVENT_IOC_DISABLE:
        event->enabled = false;
        return 0;
    case PERF_EVENT_IOC_RESET: /* resets the count, but not the times */
        event->count = 0;
        return 0;
    default:
        return -ENOTTY;
    }
}

static int fake_ioctl(struct sys *sys, int fd, unsigned long request, unsigned long argument)
{
    struct fake_sys *fake = fake_of(sys);
    struct fake_event *event = fake_find_event(fake, fd);
    const struct fake_failure *failure =
        ordered(fake, FAKE_IOCTL, event ? &event->attr : NULL, event ? event->cpu : -1);
    int r = 0;

    if (failure)
        return -failure->error;
    if (!event)
        return -EBADF;
    if (request == PERF_EVENT_IOC_ID) {
        memcpy((void *)argument, &(uint64_t){(uint64_t)fd}, sizeof(uint64_t));
        return 0;
    }
    if (!(argument & PERF_IOC_FLAG_GROUP))
        return control(event, request);
    for (size_t i = 0; r == 0 && i < fake->n_events; i++)
        if (fake->events[i] && fake->events[i]->leader == event->leader)
            r = control(fake->events[i], request);
    return r;
}

static int fake_mount(struct sys *sys, const char *path)
{
    struct fake_sys *fake = fake_of(sys);
    const struct fake_failure *failure = ordered(fake, FAKE_MOUNT, NULL, -1);
    char id[128];

    if (failure)
        return -failure->error;
    snprintf(id, sizeof(id), "%s/events/sched/sched_switch/id", path);
    fake_file(fake, id, "316\n");
    return 0;
}

void fake_set_online(struct fake_sys *fake, unsigned cpu, bool online)
{
    struct cpuset one = {0};

    assert(cpuset_add(&one, cpu) == 0);
    if (online)
        assert(cpuset_add(&fake->online, cpu) == 0);
    else
        cpuset_subtract(&fake->online, &one);
    cpuset_done(&one);
    _cleanup_(freep) char *list = cpuset_format(&fake->online);
    fake_file(fake, "/sys/devices/system/cpu/online", "%s\n", list);
    for (size_t i = 0; i < fake->n_events; i++) {
        struct fake_event *event = fake->events[i];
        if (!event || event->cpu != (int)cpu || online)
            continue;
        event->dead = true;
        event->leader = event;
    }
}

/* Time */

void fake_update_page(const struct fake_sys *fake, const struct fake_event *event)
{
    struct perf_event_mmap_page *page = event->page;
    uint64_t counter = fake_user_counter(fake, (unsigned)(event->fd - FAKE_FD_FIRST));

    page->lock += 2;
    page->cap_user_rdpmc = page->cap_user_time = fake->user_reads;
    page->pmc_width = 32;
    page->time_mult = 1;
    page->index = fake->user_reads && !event->off_counter ? (uint32_t)(event->fd - FAKE_FD_FIRST) + 1 : 0;
    page->offset = (int64_t)(event->count - (page->index ? (uint64_t)(int64_t)(int32_t)counter : 0));
    page->time_enabled = event->time_enabled;
    page->time_running = event->time_running;
    page->time_offset = -fake->monotonic_ns;
}

void fake_user_reads(struct fake_sys *fake)
{
    fake->user_reads = true;
    for (size_t i = 0; i < fake->n_events; i++)
        if (fake->events[i] && fake->events[i]->page)
            fake_update_page(fake, fake->events[i]);
}

uint64_t fake_user_counter(const struct fake_sys *fake, unsigned number)
{
    assert(number < fake->n_events && fake->events[number]);
    return (uint32_t)(fake->events[number]->count - 1000);
}

void fake_set_off_counter(struct fake_sys *fake, int fd, bool off)
{
    struct fake_event *event = fake_find_event(fake, fd);

    assert(event);
    event->off_counter = off;
    if (event->page)
        fake_update_page(fake, event);
}

void fake_rate(struct fake_sys *fake, struct fake_rate rate)
{
    assert(fake->n_rates < ARRAY_SIZE(fake->rates) && rate.ns);
    fake->rates[fake->n_rates++] = rate;
}

void fake_count_event(const struct fake_sys *fake, struct fake_event *event, uint64_t running)
{
    struct fake_rate rate = {.count = 1, .ns = 1};

    for (size_t i = 0; i < fake->n_rates; i++)
        if (fake->rates[i].type == event->attr.type && fake->rates[i].config == event->attr.config)
            rate = fake->rates[i];
    uint64_t whole = muldiv(running, rate.count, rate.ns).whole;
    /* The remainder is less than rate.ns, so the low 64 bits of the product suffice. */
    event->remainder += running * rate.count - whole * rate.ns;
    event->count += whole + event->remainder / rate.ns;
    event->remainder %= rate.ns;
}

static bool group_counts(const struct fake_event *leader)
{
    return leader->enabled && !leader->dead;
}

/*
 * Returns for how many of `ns` nanoseconds the group is on its PMU's counters. All groups that need counters share them
 * evenly; groups of cgroups that do not run need none.
 */
static uint64_t running_time(const struct fake_sys *fake, const struct fake_event *leader, uint64_t ns)
{
    const struct fake_pmu *pmu = fake_group_pmu(fake, leader);
    uint64_t wanted = 0;

    if (!pmu || pmu->counters == FAKE_UNLIMITED)
        return ns;
    for (size_t i = 0; i < fake->n_events; i++) {
        const struct fake_event *other = fake->events[i];
        if (other && other->leader == other && other->cpu == leader->cpu && group_counts(other) &&
            (other->cgroup == -1 || other->cgroup == leader->cgroup) && fake_group_pmu(fake, other) == pmu)
            wanted += fake_group_needs(fake, other);
    }
    return wanted <= pmu->counters ? ns : muldiv(ns, pmu->counters, wanted).whole;
}

static void event_run(const struct fake_sys *fake, struct fake_event *event, uint64_t ns)
{
    if (!event->enabled || event->dead || !group_counts(event->leader))
        return;
    uint64_t running = event->off_counter ? 0 : running_time(fake, event->leader, ns);
    event->time_enabled += ns;
    event->time_running += running;
    fake_count_event(fake, event, running);
}

void fake_cgroup_run(struct fake_sys *fake, int fd, unsigned cpu, uint64_t ns)
{
    for (size_t i = 0; fd >= 0 && i < fake->n_events; i++)
        if (fake->events[i] && fake->events[i]->cgroup == fd && fake->events[i]->cpu == (int)cpu)
            event_run(fake, fake->events[i], ns);
    if (fake->run_cgroup)
        fake->run_cgroup(fake, fd, cpu, ns);
}

void fake_run_cpu(struct fake_sys *fake, unsigned cpu, uint64_t ns)
{
    for (size_t i = 0; i < fake->n_events; i++)
        if (fake->events[i] && fake->events[i]->cgroup == -1 && fake->events[i]->cpu == (int)cpu)
            event_run(fake, fake->events[i], ns);
}

void fake_advance(struct fake_sys *fake, uint64_t ns)
{
    for (size_t i = 0; i < fake->n_events; i++)
        if (fake->events[i] && fake->events[i]->cgroup == -1)
            event_run(fake, fake->events[i], ns);
    fake->monotonic_ns += ns;
    fake->realtime_ns += ns;
}

void fake_exec(struct fake_sys *fake)
{
    for (size_t i = 0; i < fake->n_events; i++)
        if (fake->events[i] && fake->events[i]->attr.enable_on_exec)
            fake->events[i]->enabled = true;
}

static uint64_t fake_now(struct sys *sys, clockid_t clock)
{
    const struct fake_sys *fake = fake_of(sys);
    return clock == CLOCK_REALTIME ? fake->realtime_ns : fake->monotonic_ns;
}

static const struct sys_calls fake_calls = {
    .perf_event_open = fake_open,
    .open_group = sys_own_open_group,
    .open_file = sys_own_open_file,
    .read = fake_read,
    .ioctl = fake_ioctl,
    .close = fake_close,
    .mmap = fake_mmap,
    .munmap = fake_munmap,
    .now = fake_now,
    .mount_tracefs = fake_mount,
};

struct fake_sys *fake_sys_new(void)
{
    struct fake_sys *fake = calloc(1, sizeof(*fake));

    assert(fake);
    strcpy(fake->root, "/tmp/perfcountd-test-XXXXXX");
    assert(mkdtemp(fake->root));
    fake->monotonic_ns = 1000 * NSEC_PER_SEC;
    fake->realtime_ns = 1700000000 * NSEC_PER_SEC;
    fake->sys = (struct sys){.calls = fake_calls, .root = fake->root};
    return fake;
}
