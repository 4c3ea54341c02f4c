/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Perf groups on CPUs that did not run for a cgroup when they were enabled last, and the time enabled that waits until
 * they do: few at a time. The time is that of the cgroup's own slot; for tasks of a cgroup inside it waits there.
 */
#ifndef COLLECTORS_CGROUP_TALLY_WAITS_H
#define COLLECTORS_CGROUP_TALLY_WAITS_H

#include "base/util.h"

struct tally_wait {
    uint64_t pending_ns;
    uint32_t row; /* of the perf group: a row has at most one on a CPU */
    uint16_t cpu;
    bool starved; /* it did not run since */
};

/* All zero at first. */
struct tally_waits {
    struct tally_wait *items; /* by CPU and row */
    uint32_t n;
};

void tally_waits_done(struct tally_waits *waits);

/* NULL where nothing waits. */
struct tally_wait *tally_waits_find(const struct tally_waits *waits, unsigned cpu, uint32_t row);
/* Without memory the time is lost, so that totals become a little too low. */
void tally_waits_add(struct tally_waits *waits, unsigned cpu, uint32_t row, uint64_t pending_ns, bool starved);
/* The perf group ran on its CPU; `whole`: for the cgroup itself, so that none of its time waits any more. */
void tally_waits_run(struct tally_waits *waits, unsigned cpu, uint32_t row, bool whole);

/* Rows have other numbers: new ones by old ones, TALLY_WAITS_GONE where a row is not there any more. */
#define TALLY_WAITS_GONE UINT32_MAX
void tally_waits_move(struct tally_waits *waits, const uint32_t *rows);

#endif
