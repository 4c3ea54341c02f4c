/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Groups that the collector cpu has open and others count with too: where it counts the same events in one group of a
 * CPU, its descriptors serve both. A clock need not be among them, since it counts the group's running time.
 */
#ifndef COLLECTORS_CGROUP_LENDING_H
#define COLLECTORS_CGROUP_LENDING_H

#include "collectors/group-collector.h"

/*
 * Has `group`, which was opened for events of `config` on a CPU, count with the descriptors of context->cpu, if that
 * has them now; those that it had are closed then. -ENOMEM.
 */
int lending_borrow(const struct collector_context *context, const struct config_group *config,
                   struct opened_group *group);

/* Whether the event counts the time in which its group runs. */
bool lending_is_clock(const struct event *event);

#endif
