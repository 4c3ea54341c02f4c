/* SPDX-License-Identifier: Apache-2.0 */
/* The types that a value can have. `groups` and `events` are in groups.c. */
#ifndef CONFIG_OPTION_TYPES_H
#define CONFIG_OPTION_TYPES_H

#include "config/options.h"

extern const struct option_type option_bool;            /* bool */
extern const struct option_type option_deprecated_bool; /* bool, of a deprecated key: it is read, and not shown */
extern const struct option_type option_choice;          /* an enum, by option->choices */
extern const struct option_type option_text;            /* char *; NULL where nothing was said */
extern const struct option_type option_text_list;       /* char **, with its number at count_offset */
extern const struct option_type option_number;          /* uint64_t */
extern const struct option_type option_duration;        /* uint64_t, nanoseconds */

/* Reads a node that is a text by the type's `parse`, whose error then gets the place and the key. */
int option_read_text(const struct option *option, const struct document *document, const node *n, void *base,
                     struct error *error);

#endif
