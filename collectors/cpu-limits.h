/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What keeps the clock of CPUs down: limits of frequency, cooling, under-voltage. They explain why the effective clock
 * rate, which is counted, is lower than expected.
 *
 * Each metric is a row of a table of files in /sys. A machine without the file does not have the series. The files are
 * searched for when the collector `self` is opened, and read whenever it is read. They stay open in between: opening
 * and closing a file of /sys costs several times what reading it costs.
 *
 * The snapshot has the limits as well. It also has the lost time of each CPU: at each reading, the time since the
 * previous one is multiplied by the fraction of the highest clock rate that the limit takes away now, and added.
 */
#ifndef COLLECTORS_CPU_LIMITS_H
#define COLLECTORS_CPU_LIMITS_H

#include "collectors/collector.h"

/* Has no series if all zero. */
struct cpu_limits {
    struct limit_file *files;
    size_t n;
    uint64_t last_ns;   /* CLOCK_MONOTONIC of the last reading; 0: none */
    struct buffer text; /* text of the last file that was read; kept to reuse its memory */
};

/* Finds the files, if the machine has a PMU. Returns -ENOMEM on failure; cpu_limits_done() must be called in either
 * case. */
int cpu_limits_open(const struct collector_env *env, struct cpu_limits *ret);
/* Reads the files. The series of a file that cannot be read any more are hidden. */
void cpu_limits_collect(const struct collector_env *env, struct cpu_limits *limits);
void cpu_limits_done(const struct collector_env *env, struct cpu_limits *limits);

#endif
