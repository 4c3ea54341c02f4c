/* SPDX-License-Identifier: Apache-2.0 */
/* Configured groups counted at places: what the collectors `cpu` and `pmu` are made of. */
#ifndef COLLECTORS_GROUP_COLLECTOR_H
#define COLLECTORS_GROUP_COLLECTOR_H

#include "collectors/group-counts.h"
#include "collectors/place.h"

struct counted;

/*
 * Opens each group at each place. `previous` (may be NULL) is consumed, and what it has in common with the new goes on
 * counting. What could not be opened is reported, and is no failure: that is only -ENOMEM.
 */
int counted_open(const struct collector_context *context, const struct config_groups *groups,
                 const struct places *places, struct counted *previous, struct counted **ret, struct error *error);

/* The rest of a struct collector; `state` is what counted_open() gave. */
int counted_collect(const struct collector_context *context, void *state, struct error *error);
int counted_pause(const struct collector_context *context, void *state);
int counted_report(const struct collector_context *context, const void *state, struct failures *failures);
void counted_close(const struct collector_context *context, void *state);

/* The series of perfcountd_groups, one for each state; the caller removes them. -ENOMEM. */
int counted_add_states(const struct collector_context *context, struct series *states[N_ROW_STATES]);

#endif
