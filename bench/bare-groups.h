/* SPDX-License-Identifier: Apache-2.0 */
/* Groups of software events that are opened and only read: the price of the kernel, and nothing else. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define BARE_GROUPS_EVENTS_MAX 5 /* page faults are the last */

struct bare_groups {
    int *leaders;
    size_t n_leaders;
    size_t n_events; /* of each group */
    uint64_t sum;    /* so that the reads are used */
};

/* Ends the program where it fails, as all of these do. A group for each of n_cgroups cgroups on each CPU, or, where
 * there is none, for each CPU. */
void bare_groups_open(struct bare_groups *groups, size_t n_events, char **cgroups, size_t n_cgroups);
/* One more on a CPU, of a cgroup or -1; none where the CPU is offline. An all-zero struct but for n_events has none. */
void bare_groups_add(struct bare_groups *groups, int cgroup, int cpu);
void bare_groups_done(struct bare_groups *groups);

/* One read(2) for each group. */
void bare_groups_read(struct bare_groups *groups);
