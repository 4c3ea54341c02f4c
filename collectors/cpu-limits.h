/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The limits that keep CPU clock rates down: frequency limits, cooling, and under-voltage. They explain why the
 * effective clock rate, which the collectors measure, is lower than expected.
 *
 * Each metric is one row in a table of sysfs files. A series exists only on machines that have its file. The files are
 * looked up when the `self` collector is opened, and read whenever that collector is read. They stay open in between,
 * because opening and closing a sysfs file takes several times as long as reading it.
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
    struct buffer text; /* content of the last file read; kept to reuse the memory */
};

/* Finds the files, if the machine has a PMU. Returns -ENOMEM on failure; cpu_limits_done() must be called in either
 * case. */
int cpu_limits_open(const struct collector_env *env, struct cpu_limits *ret);
/* Reads the files. The series of a file that can no longer be read are hidden. */
void cpu_limits_collect(const struct collector_env *env, struct cpu_limits *limits);
void cpu_limits_done(const struct collector_env *env, struct cpu_limits *limits);

#endif
