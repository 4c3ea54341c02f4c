/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a YAML map by a table of options. */
#ifndef CONFIG_OPTION_TABLE_H
#define CONFIG_OPTION_TABLE_H

#include "config/options.h"

/*
 * Reads each key of `map` into its member of `base`. A path with dots is a map in a map; one that is absent or null
 * leaves its members as they are. An unknown key is -EINVAL, with the nearest names. `ret_nodes`, which may be NULL,
 * has an element for each row of the table and gets the values' nodes, NULL for what is absent.
 */
int option_table_read(const struct option_table *table, const struct document *document, const node *map, void *base,
                      const node **ret_nodes, struct error *error);

#endif
