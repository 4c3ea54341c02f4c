/* SPDX-License-Identifier: Apache-2.0 */
/* The open events of a machine to play: what fake-sys.c and fake-tally.c share. Not for tests. */
#ifndef TESTS_UNIT_FAKE_EVENT_H
#define TESTS_UNIT_FAKE_EVENT_H

#include "tests/unit/fake-sys.h"

struct fake_event {
    struct perf_event_attr attr;
    int fd, cpu;
    int cgroup; /* its descriptor, or -1 */
    struct fake_pmu *pmu;
    struct fake_event *leader; /* itself, where it leads a group or is alone */
    bool enabled, dead;        /* dead: its CPU has left */
    bool off_counter;
    uint64_t count, remainder, time_enabled, time_running;
    struct perf_event_mmap_page *page; /* NULL where it is not mapped */
};

static inline struct fake_sys *fake_of(struct sys *sys)
{
    return (struct fake_sys *)sys;
}

/* NULL where `fd` is not open. */
struct fake_event *fake_find_event(const struct fake_sys *fake, int fd);
/* How many counters of a PMU the group of `leader` needs. */
uint32_t fake_group_needs(const struct fake_sys *fake, const struct fake_event *leader);
/* The hardware PMU of a group, or NULL. */
struct fake_pmu *fake_group_pmu(const struct fake_sys *fake, const struct fake_event *leader);

/* Writes to the event's page what perf_event_update_userpage() of kernel/events/core.c writes. */
void fake_update_page(const struct fake_sys *fake, const struct fake_event *event);
/* Lets time pass for the events of a CPU, but for those of a cgroup; and for one event, which need not be open. */
void fake_run_cpu(struct fake_sys *fake, unsigned cpu, uint64_t ns);
void fake_count_event(const struct fake_sys *fake, struct fake_event *event, uint64_t running);
/* Whether a failure is ordered for the next such call. */
bool fake_will_fail(const struct fake_sys *fake, enum fake_call call, const struct perf_event_attr *attr, int cpu);

#endif
