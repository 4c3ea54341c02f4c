/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The keys of perfcountd.yaml, one row each. The loader, flags, check-config, /api/v1/config, --help and the check of
 * the manual page follow this table; nothing else knows the keys.
 */
#ifndef CONFIG_OPTIONS_H
#define CONFIG_OPTIONS_H

#include "config/option-table.h"

extern const struct option_table config_options; /* of struct config */

#endif
