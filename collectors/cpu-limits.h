/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What keeps the clock of CPUs down: limits of frequency, cooling, under-voltage. They explain why the effective clock
 * rate, which is counted, is lower than expected.
 *
 * Each metric is a row of a table of files in /sys. A machine without the file has no series. The files are looked for
 * when the collector `self` is opened, and read when it is read. They stay open in between: opening and closing a file
 * of /sys costs several times what reading it costs.
 *
 * The snapshot has the limits as well, and for how long they took how much of a clock rate: the sum over readings of
 * the time since the one before, times the fraction that is missing at the reading.
 */
#ifndef COLLECTORS_CPU_LIMITS_H
#define COLLECTORS_CPU_LIMITS_H

#include "collectors/collector.h"

/* All zero: no series. */
struct cpu_limits {
    struct limit_file *files;
    size_t n;
    uint64_t last_ns;   /* CLOCK_MONOTONIC of the last reading; 0: none */
    struct buffer text; /* what was read last, kept for its memory */
};

/* Finds the files, if the machine has a PMU. Returns -ENOMEM on failure; cpu_limits_done() must be called in either
 * case. */
int cpu_limits_open(const struct collector_env *env, struct cpu_limits *ret);
/* A file that cannot be read any more hides its series. */
void cpu_limits_collect(const struct collector_env *env, struct cpu_limits *limits);
void cpu_limits_done(const struct collector_env *env, struct cpu_limits *limits);

#endif
