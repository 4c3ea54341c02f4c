/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The keys `events` and `preset` of a group, as option types of struct config_group. `events` is one text in perf's
 * syntax, which may have several groups and is read into `written`, or a list, which is read into `events`.
 */
#ifndef CONFIG_EVENT_GROUPS_H
#define CONFIG_EVENT_GROUPS_H

#include "config/option-table.h"
#include "config/values.h"

extern const struct option_type option_events, option_preset;
extern const struct option_table event_options; /* of an item of the list that is a map */

/* Moves the events of `list`, one group of the text at node `n`, to `group`. -EINVAL with the position of an event that
 * is refused. */
int events_take_list(const struct document *document, const yaml_node_t *n, struct event_list *list,
                     struct config_group *group, struct error *error);

#endif
