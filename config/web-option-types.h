/* SPDX-License-Identifier: Apache-2.0 */
/* The types of values that only the web configuration has. They are never shown, because some are secrets. */
#ifndef CONFIG_WEB_OPTION_TYPES_H
#define CONFIG_WEB_OPTION_TYPES_H

#include "config/option-table.h"

extern const struct option_type option_optional_text; /* char *; NULL for "" */
extern const struct option_type option_pem;           /* char *; NULL for ""; may have several lines */
extern const struct option_type option_yaml11_bool;   /* bool, with the words of YAML 1.1: yes, off... */
extern const struct option_type option_go_duration;   /* uint64_t, nanoseconds, as Go's time.ParseDuration has them */
extern const struct option_type option_headers;       /* of struct web_config */
extern const struct option_type option_users;         /* of struct web_config */

#endif
