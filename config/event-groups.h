/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The keys groups, events and preset.
 *
 * The keys `events` and `preset` of a group, as option types of struct config_group. `events` is one text in perf's
 * syntax, which may have several groups and is read into `written`, or a list, which is read into `events`.
 *
 * The groups of a collector, as an option type of struct config_groups.
 */
#ifndef CONFIG_EVENT_GROUPS_H
#define CONFIG_EVENT_GROUPS_H

#include "config/schema.h"

extern const struct option_type option_events, option_preset;
extern const struct option_table event_options; /* of an item of the list that is a map */

extern const struct option_type option_groups;
extern const struct option_table group_options; /* of struct config_group, for each item of the list */

#endif
