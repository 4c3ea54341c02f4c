/* SPDX-License-Identifier: Apache-2.0 */
/* The types of values that more than one key has. The types of `groups` and `events` are in groups.h and events.h. */
#ifndef CONFIG_OPTION_TYPES_H
#define CONFIG_OPTION_TYPES_H

#include "config/option-table.h"

extern const struct option_type option_bool;            /* bool */
extern const struct option_type option_deprecated_bool; /* bool; the key is read but not shown */
extern const struct option_type option_choice;          /* an enum, by option->choices */
extern const struct option_type option_text;            /* char *; NULL for an absent key */
extern const struct option_type option_text_list;       /* char **, with the number of items at count_offset */
extern const struct option_type option_number;          /* uint64_t */
extern const struct option_type option_duration;        /* uint64_t, nanoseconds */

/* The member that the option sets. For the functions of types, as all that follows. */
static inline void *option_member(const struct option *option, const void *base)
{
    return (char *)base + option->offset;
}
/* `done` of a value that holds no memory, and of a text. */
void option_done_nothing(const struct option *option, void *base);
void option_done_text(const struct option *option, void *base);
/* -EINVAL with the position: "KEY: expected EXPECTED, found ...". */
int option_expected(const struct option *option, const struct document *document, const yaml_node_t *n,
                    const char *expected, struct error *error);
/*
 * Sets a number that was parsed with the result `r`: -EINVAL with a sentence where it is out of range, or where
 * `expected` was not found in `text`.
 */
int option_set_number(const struct option *option, const char *text, int r, uint64_t value, const char *expected,
                      void *base, struct error *error);
/* Reads a node that is a text by the type's `parse`. Its error gets the position and the key. */
int option_read_text(const struct option *option, const struct document *document, const yaml_node_t *n, void *base,
                     struct error *error);

#endif
