/* SPDX-License-Identifier: Apache-2.0 */
/* A hardware event of the calling thread: see thread-counter.h. */
#include "perf/user-read.h"

#include <stdio.h>
#include <sys/mman.h>

#include "base/cleanup.h"
#include "perf/event-parse.h"
#include "perf/group.h"

/* The event on one kind of core. */
struct core_counter {
    struct group *group; /* with one member */
    void *page;          /* NULL where it cannot be read in user space */
};

struct thread_counter {
    struct sys *sys;
    const struct userpage_reader *reader;
    size_t page_size;
    bool excludes_kernel;
    uint64_t enabled; /* the highest that was read */
    size_t n;
    struct core_counter cores[];
};

/*
 * With one kind of core the generic event serves. With several kinds the kernel would bind that event to one of them,
 * so the event of each core PMU is opened, by Intel's and Arm's names for it.
 */
static const struct {
    const char *name;
    uint64_t config;
    const char *own_names[2];
} events[N_THREAD_COUNTER_EVENTS] = {
    [THREAD_COUNTER_CYCLES] = {"cycles", PERF_COUNT_HW_CPU_CYCLES, {"cpu-cycles", "cpu_cycles"}},
    [THREAD_COUNTER_INSTRUCTIONS] = {"instructions", PERF_COUNT_HW_INSTRUCTIONS, {"instructions", "inst_retired"}},
};

static const struct group_target own_task = {.pid = 0, .cpu = -1};

DEFINE_CLEANUP(struct thread_counter *, thread_counter_free);

const char *thread_counter_event_name(enum thread_counter_event event)
{
    return events[event].name;
}

struct thread_counter *thread_counter_free(struct thread_counter *counter)
{
    if (!counter)
        return NULL;
    for (size_t i = 0; i < counter->n; i++) {
        if (counter->cores[i].page)
            counter->sys->munmap(counter->sys, counter->cores[i].page, counter->page_size);
        group_free(counter->cores[i].group);
    }
    free(counter);
    return NULL;
}

/* The next core PMU, among those that are present or those that are absent. */
static const struct pmu *next_core(const struct machine *machine, bool absent, size_t *at)
{
    while (*at < machine->n_pmus) {
        const struct pmu *pmu = machine->pmus[(*at)++];
        if (pmu->scope == PMU_CORE && pmu->absent == absent)
            return pmu;
    }
    return NULL;
}

static size_t count_cores(const struct machine *machine, bool absent)
{
    size_t n = 0, at = 0;

    while (next_core(machine, absent, &at))
        n++;
    return n;
}

size_t thread_counter_needs(const struct machine *machine)
{
    return count_cores(machine, false);
}

static int build_own(struct sys *sys, const struct machine *machine, const struct pmu *pmu,
                     enum thread_counter_event number, struct attr *ret)
{
    struct event event;
    char text[128];
    size_t i = 0;

    while (i < ARRAY_SIZE(events[number].own_names) && !pmu_find_event(pmu, events[number].own_names[i]))
        i++;
    if (i == ARRAY_SIZE(events[number].own_names))
        return -ENOENT;
    snprintf(text, sizeof(text), "%s/%s/", pmu->name, events[number].own_names[i]);
    int r = event_parse(text, &event, NULL);
    if (r < 0)
        return r;
    r = attr_build(sys, machine, &event, pmu, ret, NULL);
    event_done(&event);
    return r;
}

/* An event that does not open with reads in user space (`ask`) is opened without them. */
static int open_asking(const struct thread_counter *counter, const struct attr *attr, uint64_t ask, struct group **ret)
{
    struct attr asking = *attr;

    asking.kernel.exclude_kernel = asking.kernel.exclude_hv = counter->excludes_kernel;
    asking.kernel.config1 |= ask;
    int r = group_open(counter->sys, &asking, &own_task, ret);
    if (r == 0 || r == -EACCES || !ask)
        return r;
    asking.kernel.config1 = attr->kernel.config1;
    return group_open(counter->sys, &asking, &own_task, ret);
}

/* Maps the event's page, unless it cannot be used. */
static void map_core(const struct thread_counter *counter, struct core_counter *core)
{
    struct sys *sys = counter->sys;
    void *page;

    if (sys->mmap(sys, group_fd(core->group, 0), counter->page_size, PROT_READ, &page) < 0)
        return;
    if (userpage_offers(page, counter->reader) && counter->reader->prepare(counter->reader) == 0)
        core->page = page;
    else
        sys->munmap(sys, page, counter->page_size);
}

static int open_core(struct thread_counter *counter, const struct attr *attr, uint64_t ask)
{
    struct core_counter *core = &counter->cores[counter->n];
    int r = open_asking(counter, attr, ask, &core->group);

    if (r == -EACCES && !counter->excludes_kernel) {
        counter->excludes_kernel = true;
        r = open_asking(counter, attr, ask, &core->group);
    }
    if (r < 0)
        return r;
    counter->n++;
    map_core(counter, core);
    return group_enable(core->group);
}

/* The config1 that asks for reads in user space; 0 where that is not allowed, or not needed. */
static uint64_t user_read_config1(struct sys *sys, const struct userpage_reader *reader)
{
    _cleanup_(freep) char *text = NULL;

    if (!reader->allowed_path || sys_read_file(sys, reader->allowed_path, &text) < 0)
        return 0;
    return str_equal(text, "1") ? reader->ask : 0;
}

int thread_counter_open(struct sys *sys, const struct machine *machine, const struct userpage_reader *reader,
                        enum thread_counter_event event, struct thread_counter **ret, const struct pmu **ret_refused)
{
    size_t n_present = count_cores(machine, false), n = n_present ? n_present : count_cores(machine, true), at = 0;
    _cleanup_(thread_counter_freep) struct thread_counter *counter =
        calloc(1, sizeof(*counter) + n * sizeof(struct core_counter));
    uint64_t ask = user_read_config1(sys, reader);

    if (!counter)
        return -ENOMEM;
    counter->sys = sys;
    counter->reader = reader;
    counter->page_size = (size_t)sysconf(_SC_PAGESIZE);
    for (size_t i = 0; i < n; i++) {
        const struct pmu *pmu = next_core(machine, n_present == 0, &at);
        struct attr attr = {.kernel = {.type = PERF_TYPE_HARDWARE, .config = events[event].config}, .pmu = pmu};
        int r = n > 1 ? build_own(sys, machine, pmu, event, &attr) : 0;
        if (r == 0)
            r = open_core(counter, &attr, ask);
        if (r < 0) {
            *ret_refused = pmu;
            return r;
        }
    }
    *ret = steal(counter);
    return 0;
}

/*
 * An event that is on no counter has its final value and running time in its page. The enabled time is read from an
 * event that is on a counter.
 */
static int read_user_pages(const struct thread_counter *counter, struct thread_counter_reading *reading)
{
    struct userpage_reading core;
    bool active = false;

    for (size_t i = 0; i < counter->n; i++) {
        if (!counter->cores[i].page)
            return -EOPNOTSUPP;
        int r = userpage_read(counter->cores[i].page, counter->reader, &core);
        if (r < 0)
            return r;
        reading->value += core.value;
        reading->running += core.running;
        if (core.active)
            reading->enabled = MAX(reading->enabled, core.enabled);
        active = active || core.active;
    }
    return active ? 0 : -ENODATA;
}

static int read_groups(const struct thread_counter *counter, struct thread_counter_reading *reading)
{
    struct group_reading core;

    for (size_t i = 0; i < counter->n; i++) {
        int r = group_read(counter->cores[i].group, &core);
        if (r < 0)
            return r;
        reading->value += core.values[0];
        reading->running += core.running;
        reading->enabled = MAX(reading->enabled, core.enabled);
    }
    return 0;
}

/*
 * The events of the kinds of core were opened one after the other, so their enabled times differ a little. The result
 * never falls behind an earlier one.
 */
int thread_counter_read(struct thread_counter *counter, struct thread_counter_reading *ret)
{
    struct thread_counter_reading reading = {.user = true};

    if (read_user_pages(counter, &reading) < 0) {
        reading = (struct thread_counter_reading){.user = false};
        int r = read_groups(counter, &reading);
        if (r < 0)
            return r;
    }
    counter->enabled = reading.enabled = MAX(counter->enabled, reading.enabled);
    *ret = reading;
    return 0;
}

int thread_counter_pause(struct thread_counter *counter, bool paused)
{
    int r = 0;

    for (size_t i = 0; i < counter->n; i++) {
        struct group *group = counter->cores[i].group;
        int error = paused ? group_disable(group) : group_enable(group);
        r = r < 0 ? r : error;
    }
    return r;
}

bool thread_counter_has_kernel(const struct thread_counter *counter)
{
    return !counter->excludes_kernel;
}
