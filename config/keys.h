/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of the keys of perfcountd.yaml, one row each. The configuration loader, the flags, check-config,
 * /api/v1/config and the test of the manual page all use this table; no other code lists the keys.
 */
#ifndef CONFIG_KEYS_H
#define CONFIG_KEYS_H

#include "config/schema.h"
#include "config/values.h"

extern const struct option_table config_options; /* the rows set members of struct config */

struct config;

/* Returns the name that the configuration file uses for the engine: "auto", "perf" or "bpf". */
const char *config_engine_name(enum config_engine engine);

/*
 * Sets each key that is absent from the file to its default. `nodes` is the result of option_table_read() for
 * config_options, or NULL to set all defaults. Returns -ENOMEM on failure.
 */
int config_set_defaults(struct config *config, const yaml_node_t *const *nodes, struct error *error);

#endif
