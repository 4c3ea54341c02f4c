/* SPDX-License-Identifier: Apache-2.0 */
/* A hardware event counted on the calling thread: see thread-counter.h. */
#include "perf/userpage/thread-counter.h"

#include <stdio.h>
#include <sys/mman.h>

#include "base/cleanup.h"
#include "perf/event/parse.h"
#include "perf/group.h"

/* What a kind of core counts for the thread. */
struct part {
    struct group *group; /* of one */
    void *page;          /* NULL where it cannot be read in user space */
};

struct thread_counter {
    struct sys *sys;
    const struct userpage_reader *reader;
    size_t page_size;
    bool excludes_kernel;
    uint64_t enabled; /* the highest that was read */
    size_t n;
    struct part parts[];
};

/*
 * With one kind of core the kernel's own event serves. With several it would bind it to any one of them, so each is
 * asked by its own name for it: Intel's and Arm's.
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

struct thread_counter *thread_counter_free(struct thread_counter *selfcount)
{
    if (!selfcount)
        return NULL;
    for (size_t i = 0; i < selfcount->n; i++) {
        if (selfcount->parts[i].page)
            selfcount->sys->munmap(selfcount->sys, selfcount->parts[i].page, selfcount->page_size);
        group_free(selfcount->parts[i].group);
    }
    free(selfcount);
    return NULL;
}

/* The next that counts on some kind of core; where none is present, the one that stands for it. */
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

/* What cannot be had with reads in user space is had without. */
static int open_asking(const struct thread_counter *selfcount, const struct attr *attr, uint64_t ask,
                       struct group **ret)
{
    struct attr asking = *attr;

    asking.kernel.exclude_kernel = asking.kernel.exclude_hv = selfcount->excludes_kernel;
    asking.kernel.config1 |= ask;
    int r = group_open(selfcount->sys, &asking, &own_task, ret);
    if (r == 0 || r == -EACCES || !ask)
        return r;
    asking.kernel.config1 = attr->kernel.config1;
    return group_open(selfcount->sys, &asking, &own_task, ret);
}

/* Leaves the page out where it is of no use. */
static void map_part(const struct thread_counter *selfcount, struct part *part)
{
    struct sys *sys = selfcount->sys;
    void *page;

    if (sys->mmap(sys, group_fd(part->group, 0), selfcount->page_size, PROT_READ, &page) < 0)
        return;
    if (userpage_offers(page, selfcount->reader) && selfcount->reader->prepare(selfcount->reader) == 0)
        part->page = page;
    else
        sys->munmap(sys, page, selfcount->page_size);
}

static int open_part(struct thread_counter *selfcount, const struct attr *attr, uint64_t ask)
{
    struct part *part = &selfcount->parts[selfcount->n];
    int r = open_asking(selfcount, attr, ask, &part->group);

    if (r == -EACCES && !selfcount->excludes_kernel) {
        selfcount->excludes_kernel = true;
        r = open_asking(selfcount, attr, ask, &part->group);
    }
    if (r < 0)
        return r;
    selfcount->n++;
    map_part(selfcount, part);
    return group_enable(part->group);
}

/* The config1 that asks for reads in user space; 0 where that is not allowed, or goes unasked. */
static uint64_t what_to_ask(struct sys *sys, const struct userpage_reader *reader)
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
    _cleanup_(thread_counter_freep) struct thread_counter *selfcount =
        calloc(1, sizeof(*selfcount) + n * sizeof(struct part));
    uint64_t ask = what_to_ask(sys, reader);

    if (!selfcount)
        return -ENOMEM;
    selfcount->sys = sys;
    selfcount->reader = reader;
    selfcount->page_size = (size_t)sysconf(_SC_PAGESIZE);
    for (size_t i = 0; i < n; i++) {
        const struct pmu *pmu = next_core(machine, n_present == 0, &at);
        struct attr attr = {.kernel = {.type = PERF_TYPE_HARDWARE, .config = events[event].config}, .pmu = pmu};
        int r = n > 1 ? build_own(sys, machine, pmu, event, &attr) : 0;
        if (r == 0)
            r = open_part(selfcount, &attr, ask);
        if (r < 0) {
            *ret_refused = pmu;
            return r;
        }
    }
    *ret = steal(selfcount);
    return 0;
}

/* An event that is on no counter has its final value and running time in its page; the time goes on in another's. */
static int read_user(const struct thread_counter *selfcount, struct thread_counter_reading *reading)
{
    struct userpage_reading part;
    bool active = false;

    for (size_t i = 0; i < selfcount->n; i++) {
        if (!selfcount->parts[i].page)
            return -EOPNOTSUPP;
        int r = userpage_read(selfcount->parts[i].page, selfcount->reader, &part);
        if (r < 0)
            return r;
        reading->value += part.value;
        reading->running += part.running;
        if (part.active)
            reading->enabled = MAX(reading->enabled, part.enabled);
        active = active || part.active;
    }
    return active ? 0 : -ENODATA;
}

static int read_kernel(const struct thread_counter *selfcount, struct thread_counter_reading *reading)
{
    struct group_reading part;

    for (size_t i = 0; i < selfcount->n; i++) {
        int r = group_read(selfcount->parts[i].group, &part);
        if (r < 0)
            return r;
        reading->value += part.values[0];
        reading->running += part.running;
        reading->enabled = MAX(reading->enabled, part.enabled);
    }
    return 0;
}

/*
 * The events of the kinds of core were opened one after the other, so their times differ by what that took: none is let
 * fall behind an earlier reading.
 */
int thread_counter_read(struct thread_counter *selfcount, struct thread_counter_reading *ret)
{
    struct thread_counter_reading reading = {.user = true};

    if (read_user(selfcount, &reading) < 0) {
        reading = (struct thread_counter_reading){.user = false};
        int r = read_kernel(selfcount, &reading);
        if (r < 0)
            return r;
    }
    selfcount->enabled = reading.enabled = MAX(selfcount->enabled, reading.enabled);
    *ret = reading;
    return 0;
}

int thread_counter_pause(struct thread_counter *selfcount, bool paused)
{
    int r = 0;

    for (size_t i = 0; i < selfcount->n; i++) {
        struct group *group = selfcount->parts[i].group;
        int error = paused ? group_disable(group) : group_enable(group);
        r = r < 0 ? r : error;
    }
    return r;
}

bool thread_counter_has_kernel(const struct thread_counter *selfcount)
{
    return !selfcount->excludes_kernel;
}
