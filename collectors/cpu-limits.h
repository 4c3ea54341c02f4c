/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The limits that keep the clock rate of CPUs down: frequency limits, cooling, and under-voltage. Limits explain why
 * the effective clock rate, which the collectors measure, is lower than expected.
 *
 * Each metric is one row of a table of files in /sys. A series is only present on machines that have its file. The
 * files are searched for when the `self` collector is opened, and read whenever that collector is read. The files stay
 * open in between: to open and close a file of /sys takes several times as long as to read it.
 *
 * The limits are also stored in the snapshot, together with the lost time of each CPU. At each reading, the lost time
 * grows by the time since the previous reading, multiplied by the fraction of the highest clock rate that the limit
 * currently takes away.
 */
#ifndef COLLECTORS_CPU_LIMITS_H
#define COLLECTORS_CPU_LIMITS_H

#include "collectors/collector.h"

/* The files and series of all limits. A zeroed struct has no files and no series. */
struct cpu_limits {
    struct limit_file *files;
    size_t n;
    uint64_t last_ns;   /* CLOCK_MONOTONIC of the last reading; 0 before the first one */
    struct buffer text; /* text of the last file that was read; kept to reuse its memory */
};

/* Finds the files, if the machine has a PMU. Returns -ENOMEM on failure; cpu_limits_done() must be called in either
 * case. */
int cpu_limits_open(const struct collector_env *env, struct cpu_limits *ret);
/* Reads the files. The series of a file that can no longer be read are hidden. */
void cpu_limits_collect(const struct collector_env *env, struct cpu_limits *limits);
void cpu_limits_done(const struct collector_env *env, struct cpu_limits *limits);

#endif
