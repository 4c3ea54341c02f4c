/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The keys `events` and `preset` of a group, as option types of struct config_group. `events` is one text in perf's
 * syntax, or a list.
 */
#ifndef CONFIG_EVENTS_H
#define CONFIG_EVENTS_H

#include "config/option-table.h"

extern const struct option_type option_events, option_preset;
extern const struct option_table event_options; /* of an item of the list that is a map */

#endif
