/* SPDX-License-Identifier: Apache-2.0 */
/* Two readings two seconds apart, which a test fills with values directly, without a simulated machine. */
#ifndef TESTS_UNIT_READINGS_H
#define TESTS_UNIT_READINGS_H

#include "collectors/rates.h"

struct readings {
    struct snapshot snapshot;
    struct baseline *baseline;
};

#define READINGS_SECONDS 2.0

/* Initializes readings with the cpu, pmu and cgroup collectors. */
void readings_init(struct readings *readings);
void readings_done(struct readings *readings);

/* Adds a row. `events` is like "cycles,instructions", "task_clock:seconds" or "energy_pkg:joules". `cpu` may be -1. */
struct row *readings_add(struct readings *readings, const char *pmu, const char *group, const char *cgroup, int cpu,
                         const char *events);
/* Adds a row for an event that could not be opened. */
void readings_refuse(struct readings *readings, const char *pmu, const char *group, int cpu, const char *event);
/* Ends the first reading. */
void readings_begin(struct readings *readings);
/*
 * Sets by how much the first two events grew, in their units. The group ran for `running` of the two seconds; 0: it
 * starved.
 */
void readings_count(struct row *row, double first, double second, double running);

#endif
