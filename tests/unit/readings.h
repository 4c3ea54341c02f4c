/* SPDX-License-Identifier: Apache-2.0 */
/* Two readings that a test writes by hand, two seconds apart, without a machine. */
#ifndef TESTS_UNIT_READINGS_H
#define TESTS_UNIT_READINGS_H

#include "collectors/rates.h"

struct readings {
    struct snapshot snapshot;
    struct baseline *baseline;
};

#define READINGS_SECONDS 2.0

/* Collectors are cpu, pmu and cgroup. */
void readings_init(struct readings *readings);
void readings_done(struct readings *readings);

/* Adds a row; `events` is "cycles,instructions", "task_clock:seconds" or "energy_pkg:joules". `cpu` may be -1. */
struct row *readings_add(struct readings *readings, const char *pmu, const char *group, const char *cgroup, int cpu,
                         const char *events);
/* Adds the row of an event that could not be opened. */
void readings_refuse(struct readings *readings, const char *pmu, const char *group, int cpu, const char *event);
/* The first reading is over. */
void readings_begin(struct readings *readings);
/* The counts of the first two events, in their units; counted for `running` of the two seconds, 0 for starved. */
void readings_count(struct row *row, double first, double second, double running);

#endif
