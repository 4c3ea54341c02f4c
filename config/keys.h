/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The keys of perfcountd.yaml, one row each. The loader, flags, check-config, /api/v1/config, --help and the check of
 * the manual page follow this table; nothing else knows the keys.
 */
#ifndef CONFIG_KEYS_H
#define CONFIG_KEYS_H

#include "config/schema.h"
#include "config/values.h"

extern const struct option_table config_options; /* of struct config */

struct config;

/* "auto", "perf" or "bpf". */
const char *config_engine_name(enum config_engine engine);

/*
 * Gives each member whose option has no node its default; `nodes` are those of option_table_read(), or NULL for all
 * defaults.
 */
int config_set_defaults(struct config *config, const yaml_node_t *const *nodes, struct error *error);

#endif
