/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The schema of a configuration file: tables of keys, their types, ranges and checks.
 *
 * Tables of keys: path, type, range, default and help of each key in one row; and how a YAML map is read by a table.
 *
 * The types of values that more than one key has. The types of `groups` and `events` are in groups.h and events.h.
 *
 * Checks of the texts that a key of perfcountd.yaml takes: -EINVAL with what is wrong, or -ENOMEM. Pure.
 */
#ifndef CONFIG_SCHEMA_H
#define CONFIG_SCHEMA_H

#include <jansson.h>

#include "base/error.h"
#include "config/yaml.h"

struct option;

/* A word that a value can be, and the enumerator that it means. */
struct option_choice {
    const char *word;
    unsigned value;
};

/*
 * The functions of the values of one type. `base` is the struct whose member the option sets; the earlier value is
 * freed. On failure the member is untouched.
 */
struct option_type {
    const char *name; /* for the manual: "duration" */
    /* Reads a value of the file; -EINVAL with its position. */
    int (*read)(const struct option *option, const struct document *document, const yaml_node_t *n, void *base,
                struct error *error);
    /* Parses a value of a flag; a list grows by the item. NULL for a type that no flag can have. */
    int (*parse)(const struct option *option, const char *text, void *base, struct error *error);
    /* The value as in the file; NULL when out of memory. The function is NULL for a type that is not shown. */
    json_t *(*json)(const struct option *option, const void *base);
    void (*done)(const struct option *option, void *base);
};

struct option {
    const char *path; /* "web.min_interval" */
    const struct option_type *type;
    size_t offset;       /* of the member */
    size_t count_offset; /* of the member that counts the items of a list */
    uint64_t min, max;   /* of a number, a duration in nanoseconds, or the items of a list; there `max` 0 means 64 */
    const struct option_choice *choices; /* of an enum; of a number, words beside it; the last has none */
    int (*check)(const char *text, struct error *error); /* of a text, a number, an item of a list; may be NULL */
    bool extends;             /* of a list: the item "default" stands for the items of the default */
    const char *range;        /* in words */
    const char *default_yaml; /* NULL for a key without a default */
    const char *help;         /* a sentence without its full stop */
};

struct option_table {
    const struct option *rows;
    size_t n;
    bool null_is_absent; /* a key without a value counts as absent */
};

/* The row of a key; NULL where the table does not have it. */
const struct option *option_table_find(const struct option_table *table, const char *path);
/*
 * Reads each key of `map` into its member of `base`. A path with dots is a map in a map; a map that is absent or null
 * leaves its members as they are. An unknown key is -EINVAL, with the nearest names. `ret_nodes`, which may be NULL,
 * has an element for each row of the table and gets the nodes of the values, NULL for an absent key.
 */
int option_table_read(const struct option_table *table, const struct document *document, const yaml_node_t *map,
                      void *base, const yaml_node_t **ret_nodes, struct error *error);

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

int option_check_not_empty(const char *text, struct error *error);
int option_check_address(const char *text, struct error *error); /* config/address.h */
int option_check_telemetry_path(const char *text, struct error *error);
int option_check_host(const char *text, struct error *error); /* a name as the header "Host" has it, without a port */
int option_check_cpus(const char *text, struct error *error); /* "all" or a list */
int option_check_pattern(const char *text, struct error *error);       /* of paths or names of cgroups */
int option_check_sampled_event(const char *text, struct error *error); /* "auto" or a group */
int option_check_tracepoint(const char *text, struct error *error);
int option_check_power_of_two(const char *text, struct error *error);

#endif
