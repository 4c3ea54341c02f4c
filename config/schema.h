/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The schema of a YAML file: a table with the path, type, range, default and help of each key in one row.
 *
 * option_table_read() reads a YAML map into a struct by such a table. The module also has the types that more than one
 * key uses, and the checks of their texts. config/event-groups.h and config/web-keys.h add types of their own.
 */
#ifndef CONFIG_SCHEMA_H
#define CONFIG_SCHEMA_H

#include <jansson.h>

#include "base/error.h"
#include "config/yaml.h"

struct option;

/* A word that is accepted as a value, and the enumerator or number for which it stands. */
struct option_choice {
    const char *word;
    unsigned value;
};

/*
 * The functions for values of one type. `base` is the struct whose member the option sets. A function that sets the
 * member frees its earlier value; on failure the member is untouched.
 */
struct option_type {
    const char *name; /* for error messages: "a duration" */
    /* Reads a value of the file. Returns -EINVAL with its position, or -ENOMEM. */
    int (*read)(const struct option *option, const struct document *document, const yaml_node_t *n, void *base,
                struct error *error);
    /* Parses the text of a flag; a list grows by one item. NULL for a type that flags do not set. */
    int (*parse)(const struct option *option, const char *text, void *base, struct error *error);
    /*
     * Returns the value as it is written in the file, or NULL when out of memory. The pointer is NULL for a type that
     * is not shown.
     */
    json_t *(*json)(const struct option *option, const void *base);
    void (*done)(const struct option *option, void *base);
};

struct option {
    const char *path; /* "web.min_interval" */
    const struct option_type *type;
    size_t offset;       /* of the member */
    size_t count_offset; /* for a list: of the member with the number of items */
    /*
     * Limits of a number, or of a duration in nanoseconds. For a list, limits of the number of items; a `max` of 0
     * means 64.
     */
    uint64_t min, max;
    /* The words of an enum, or the words that are accepted instead of a number. The last word is NULL. */
    const struct option_choice *choices;
    /* Checks a text, a number or an item of a list. May be NULL. */
    int (*check)(const char *text, struct error *error);
    bool extends;             /* in a list, the item "default" means all items of the default */
    const char *range;        /* description for messages and --help */
    const char *default_yaml; /* NULL for a key without a default */
    const char *help;         /* a sentence without its full stop */
};

struct option_table {
    const struct option *rows;
    size_t n;
    bool null_is_absent;              /* a key without a value counts as absent */
    const struct option_table *other; /* table of a file that is easily mistaken for this one; may be NULL */
    const char *other_hint;           /* hint for keys that belong to that file */
};

/* Returns the row of a key, or NULL if the table does not have the key. */
const struct option *option_table_find(const struct option_table *table, const char *path);
/*
 * Reads each key of `map` into its member of `base`. A dot in a path means a nested map; if a nested map is absent or
 * null, its members are not changed. Returns -EINVAL, with the nearest names, for an unknown key. `ret_nodes`, which
 * may be NULL, has an element for each row of the table and gets the nodes of the values; the elements of absent keys
 * stay as they are, so the caller zeroes them first.
 */
int option_table_read(const struct option_table *table, const struct document *document, const yaml_node_t *map,
                      void *base, const yaml_node_t **ret_nodes, struct error *error);

extern const struct option_type option_bool;            /* bool */
extern const struct option_type option_deprecated_bool; /* bool; read but not shown */
extern const struct option_type option_choice;          /* an enum, by option->choices */
extern const struct option_type option_text;            /* char *; NULL if the key is absent */
extern const struct option_type option_text_list;       /* char **, with the number of items at count_offset */
extern const struct option_type option_number;          /* uint64_t */
extern const struct option_type option_duration;        /* uint64_t, nanoseconds */
extern const struct option_type option_size;            /* uint64_t, bytes */

/* Returns the member that the option sets. This function and the next ones are helpers for option types. */
static inline void *option_member(const struct option *option, const void *base)
{
    return (char *)base + option->offset;
}
/* `done` for values that hold no memory, and for texts. */
void option_done_nothing(const struct option *option, void *base);
void option_done_text(const struct option *option, void *base);
/* Sets "KEY: expected EXPECTED, found ..." with the position of `n`, and returns -EINVAL. */
int option_expected(const struct option *option, const struct document *document, const yaml_node_t *n,
                    const char *expected, struct error *error);
/*
 * Stores a number that was parsed from `text` with the result `r`. Returns -EINVAL with a message if the number is out
 * of range, fails the option's check, or could not be parsed, in which case the sentence says that `expected` was
 * expected.
 */
int option_set_number(const struct option *option, const char *text, int r, uint64_t value, const char *expected,
                      void *base, struct error *error);
/* Reads a text node with the type's `parse`, and adds the position and the key to its error. */
int option_read_text(const struct option *option, const struct document *document, const yaml_node_t *n, void *base,
                     struct error *error);

/* Checks for the text of one value. They return 0, -EINVAL with a message, or -ENOMEM. */
int option_check_not_empty(const char *text, struct error *error);
int option_check_address(const char *text, struct error *error); /* config/address.h */
int option_check_telemetry_path(const char *text, struct error *error);
int option_check_host(const char *text, struct error *error);    /* a name as in the header "Host", without a port */
int option_check_cpus(const char *text, struct error *error);    /* "all" or a list */
int option_check_pattern(const char *text, struct error *error); /* of paths or names of cgroups */
int option_check_sampled_event(const char *text, struct error *error); /* "auto" or a group */
int option_check_tracepoint(const char *text, struct error *error);
int option_check_power_of_two(const char *text, struct error *error);

#endif
