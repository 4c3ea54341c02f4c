/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a group counts, as option types of struct config_group: the key `events`, one text in perf's syntax or a list;
 * and the key `preset`.
 */
#ifndef CONFIG_EVENTS_H
#define CONFIG_EVENTS_H

#include "config/option-table.h"

extern const struct option_type option_events, option_preset;
extern const struct option_table event_options; /* of an item of the list that is a map */

#endif
