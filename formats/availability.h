/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The derived metrics that the rows of the snapshot have now, and why they do not have the others: of each collector
 * and PMU.
 *
 * A metric is available where one group has all of its events, and is counted.
 */
#ifndef FORMATS_AVAILABILITY_H
#define FORMATS_AVAILABILITY_H

#include "collectors/registry.h"
#include "formats/absence.h"

typedef void (*availability_visit)(void *userdata, const struct availability *availability);

/* Calls `visit` for each metric on each collector that it is for, and each PMU there, in this order. -ENOMEM. */
int availability_each(struct registry *registry, const struct machine *machine, availability_visit visit,
                      void *userdata);

#endif
