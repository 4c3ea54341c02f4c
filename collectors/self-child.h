/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cost of another process of the daemon, as perfcountd_process_*{process="NAME"}. While none runs there is nothing
 * but the time of those that have ended, a total that never falls.
 */
#ifndef COLLECTORS_SELF_CHILD_H
#define COLLECTORS_SELF_CHILD_H

#include "collectors/collector.h"

#define SELF_CHILD_VALUES 5

/* Zeroed, it has no series. */
struct self_child {
    struct series *series[SELF_CHILD_VALUES];
};

/* The kernel has start times in hundredths of a second (proc(5)). */
#define START_DECIMALS 2
#define START_UNIT_NS (NSEC_PER_SEC / 100)

/* -ENOMEM; self_child_done() in either case. */
int self_child_init(struct self_child *child, const struct collector_context *context, const char *process);
void self_child_done(struct self_child *child, struct metrics *metrics);
/* `from` may be NULL. `boot_ns` is since the epoch, 0 where it is not known. */
void self_child_collect(struct self_child *child, const struct child *from, uint64_t boot_ns);

#endif
