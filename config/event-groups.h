/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The option types of the keys `groups`, `events` and `preset`, which read groups of events and check them against each
 * other.
 *
 * The type of `groups` fills a struct config_groups; the types of `events` and `preset` fill a struct config_group. The
 * value of `events` is either a string in perf's syntax, which may contain several groups and is stored in the member
 * `written`, or a list of single events, which is stored in the member `events`. Each group in a string becomes a
 * configured group.
 */
#ifndef CONFIG_EVENT_GROUPS_H
#define CONFIG_EVENT_GROUPS_H

#include "config/schema.h"

extern const struct option_type option_events, option_preset;
extern const struct option_table event_options; /* the keys of a map in the list `events` */

extern const struct option_type option_groups;
extern const struct option_table group_options; /* the keys of a map in the list `groups` */

#endif
