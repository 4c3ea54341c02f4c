/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One cgroup, counted: each configured group on each CPU, and the rows that they fill: one for each group and PMU,
 * summed over the PMU's CPUs, or with per_cpu one for each CPU.
 *
 * Each CPU's delta is scaled by its own ratio and then added. The totals outlive the cgroup and its descriptors.
 */
#ifndef COLLECTORS_CGROUP_COUNT_H
#define COLLECTORS_CGROUP_COUNT_H

#include "collectors/collector.h"

struct cgroup_count;

/*
 * Opens everything on the cgroup of the directory `fd`, which is only needed meanwhile. `label` is borrowed. What could
 * not be opened is in the report; -ENOMEM, and -ENODEV where the cgroup was removed meanwhile.
 */
int cgroup_count_open(const struct collector_context *context, const char *label, int fd, struct cgroup_count **ret);
/* Closes the descriptors and removes the rows. */
struct cgroup_count *cgroup_count_free(struct cgroup_count *count, struct snapshot *snapshot);

/* Reads each perf group by one read(2) and updates the rows. Returns how many could be read. */
size_t cgroup_count_collect(struct cgroup_count *count, struct sys *sys);
/* Disables what is open, or enables it again. Errors of ioctl(2). */
int cgroup_count_pause(struct cgroup_count *count, bool paused);
/* The cgroup is gone: reads a last time, closes all descriptors at once (they pin it); the rows stay as they are. */
void cgroup_count_end(struct cgroup_count *count, struct sys *sys);
/*
 * Opens anew, and goes on from the totals: after a reload or when CPUs came or went (`fd` is the same cgroup's; what
 * did not change is not touched, what could not be opened is tried again), and when an ended cgroup came back under
 * the same name. -ENODEV where it was removed meanwhile: then it has ended, and its rows stay. -ENOMEM.
 */
int cgroup_count_resume(struct cgroup_count *count, const struct collector_context *context, int fd);

/* Of a cgroup that cannot be resumed for now: closes what is on CPUs that are away or were. */
void cgroup_count_leave(struct cgroup_count *count, const struct collector_context *context);

/* Adds what could not be opened, each with its CPUs. -ENOMEM. */
int cgroup_count_report(const struct cgroup_count *count, const struct collector_context *context,
                        struct failures *failures);
/* Whether a read showed that something must be opened anew. */
bool cgroup_count_is_stale(const struct cgroup_count *count);
/* Open descriptors; 0 once it has ended. */
size_t cgroup_count_descriptors(const struct cgroup_count *count);
/* Adds its groups to the number in each state; one that has ended has none. */
void cgroup_count_states(const struct cgroup_count *count, size_t counts[N_ROW_STATES]);

/* How many descriptors one cgroup needs here at most: events x CPUs. */
size_t cgroup_count_needs(const struct collector_context *context);

#endif
