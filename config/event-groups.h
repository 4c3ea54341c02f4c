/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The option types of the keys `groups`, `events` and `preset`, which read groups of events and check them against each
 * other.
 *
 * `groups` fills a struct config_groups, `events` and `preset` a struct config_group. `events` is either one text in
 * perf's syntax, which may contain several groups and goes to `written`, or a list of single events, which goes to
 * `events`. A text with several groups becomes as many configured groups.
 */
#ifndef CONFIG_EVENT_GROUPS_H
#define CONFIG_EVENT_GROUPS_H

#include "config/schema.h"

extern const struct option_type option_events, option_preset;
extern const struct option_table event_options; /* an item of the list `events` that is a map */

extern const struct option_type option_groups;
extern const struct option_table group_options; /* an item of the list `groups`, in struct config_group */

#endif
