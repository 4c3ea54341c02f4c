/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts configured groups in one task and all tasks that it starts, from its exec(2) on, with inherited perf events
 * (`inherit` in perf_event_open(2)).
 *
 * A row is a group on one core PMU, which counts while the task is on the CPUs of that PMU. Every CPU counts software
 * events, tracepoints and the like, so the group's events of this kind have a row of their own. Software events and
 * tracepoints take no hardware counter, so they are counted whenever the task runs.
 *
 * With several kinds of core, an event is enabled on all core PMUs and runs on one core PMU at a time. The event's
 * enabled time is therefore the time that the task ran on any CPU. The task's time on one PMU is estimated from the
 * group that ran longest on that PMU. Without multiplexing, the times of all PMUs add up to the enabled time. With
 * multiplexing, all these times are scaled by the factor that makes them add up to the enabled time.
 */
#ifndef COLLECTORS_TASK_COUNTS_H
#define COLLECTORS_TASK_COUNTS_H

#include "collectors/targets.h"

struct task_counts;

/*
 * `pid` is a task of the caller that has not executed its program yet. The collector with bit number 0 in `snapshot`
 * must be TASK_COLLECTOR. All arguments must outlive the result. Returns -ENOMEM on failure.
 */
int task_counts_new(struct sys *sys, const struct machine *machine, pid_t pid, struct snapshot *snapshot,
                    struct task_counts **ret);
/*
 * Opens the groups and adds their rows. An event that cannot be opened gets a row and is listed as a failure, but is
 * not an error. `groups` need not outlive the call. Returns -ENOMEM on failure.
 */
int task_counts_open(struct task_counts *counts, const struct config_groups *groups);
/* Closes the events of the task. The rows stay in the snapshot. */
struct task_counts *task_counts_free(struct task_counts *counts);

/* Reads all events into their rows. Returns -ENOMEM. The counts of a task are final once it has been reaped. */
int task_counts_read(struct task_counts *counts);

const struct failures *task_counts_failures(const struct task_counts *counts);
/* Returns whether kernel mode is excluded, because this process may only count in user mode. */
bool task_counts_user_only(const struct task_counts *counts);

#endif
