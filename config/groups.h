/* SPDX-License-Identifier: Apache-2.0 */
/* The groups of a collector, as an option type of struct config_groups. */
#ifndef CONFIG_GROUPS_H
#define CONFIG_GROUPS_H

#include "config/option-table.h"

extern const struct option_type option_groups;
extern const struct option_table group_options; /* of struct config_group, for each item of the list */

#endif
