/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The daemon's own cost in hardware events: perfcountd_self_cycles_total and the like. An event that cannot be
 * counted has no series; a series that is starved is left out of the scrape.
 */
#ifndef COLLECTORS_SELF_COST_H
#define COLLECTORS_SELF_COST_H

#include "collectors/collector.h"

struct self_cost;

/*
 * Opens the counters that are not open in `previous`, which may be NULL and is consumed; the others go on. Events that
 * cannot be opened are in the report. Fails only with -ENOMEM.
 */
int self_cost_open(const struct collector_context *context, struct self_cost *previous, struct self_cost **ret);
struct self_cost *self_cost_free(struct self_cost *cost, struct metrics *metrics);

/* On the thread that opened it; without a system call where the CPU and the kernel allow it. */
void self_cost_collect(struct self_cost *cost);

/* Disables the open counters, or enables them again, as context->paused says. Errors of ioctl(2). */
int self_cost_pause(const struct collector_context *context, struct self_cost *cost);

/* Adds the events that could not be opened. -ENOMEM. */
int self_cost_report(const struct self_cost *cost, const struct collector_context *context, struct failures *failures);

#endif
