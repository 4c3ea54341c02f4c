/* SPDX-License-Identifier: Apache-2.0 */
/* The open events of a simulated machine, shared by fake-sys.c and fake-bpf.c. Tests use fake-sys.h instead. */
#ifndef TESTS_UNIT_FAKE_EVENT_H
#define TESTS_UNIT_FAKE_EVENT_H

#include "tests/unit/fake-sys.h"

struct fake_event {
    struct perf_event_attr attr;
    int fd, cpu;
    int cgroup; /* descriptor of the cgroup's directory, or -1 */
    struct fake_pmu *pmu;
    struct fake_event *leader; /* the event itself if it is a leader or has no group */
    bool enabled, dead;        /* dead: its CPU has gone offline */
    bool off_counter;
    uint64_t count, remainder, time_enabled, time_running;
    struct perf_event_mmap_page *page; /* NULL if it is not mapped */
};

static inline struct fake_sys *fake_of(struct sys *sys)
{
    return (struct fake_sys *)sys;
}

/* Returns NULL if `fd` is not open. */
struct fake_event *fake_find_event(const struct fake_sys *fake, int fd);
/* Returns the number of hardware counters that the group of `leader` occupies. */
uint32_t fake_group_needs(const struct fake_sys *fake, const struct fake_event *leader);
/* Returns the hardware PMU of the group, or NULL if the group has software events only. */
struct fake_pmu *fake_group_pmu(const struct fake_sys *fake, const struct fake_event *leader);

/* Updates the event's mmap page as perf_event_update_userpage() in kernel/events/core.c does. */
void fake_update_page(const struct fake_sys *fake, const struct fake_event *event);
/* Runs all events of a CPU, except cgroup events, for `ns` nanoseconds. */
void fake_run_cpu(struct fake_sys *fake, unsigned cpu, uint64_t ns);
/*
 * Adds the count of `running` nanoseconds to one event, which need not be open. The times of the event do not change.
 */
void fake_count_event(const struct fake_sys *fake, struct fake_event *event, uint64_t running);
/* Returns whether fake_fail() makes the next call with these arguments fail. */
bool fake_will_fail(const struct fake_sys *fake, enum fake_call call, const struct perf_event_attr *attr, int cpu);

#endif
