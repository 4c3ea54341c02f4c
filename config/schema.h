/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The schema of a YAML file: a table with the path, type, range and default of each key in one row.
 *
 * option_table_read() reads a YAML map into a struct, as described by an option table. This module also has the option
 * types that more than one key uses, and functions that validate values. config/event-groups.h and config/web-keys.h
 * add more option types.
 */
#ifndef CONFIG_SCHEMA_H
#define CONFIG_SCHEMA_H

#include <jansson.h>

#include "base/error.h"
#include "config/yaml.h"

struct option;

/* A keyword that is accepted as a value, and the enumerator or number that it stands for. */
struct option_choice {
    const char *word;
    unsigned value;
};

/*
 * The functions that handle values of one option type. `base` is the struct whose member the option sets. A function
 * that sets the member frees the member's previous value, or leaves the member untouched on failure.
 */
struct option_type {
    const char *name; /* how error messages name the type, such as "a duration" */
    /* Reads a value from the file. Returns -EINVAL with the value's position, or -ENOMEM. */
    int (*read)(const struct option *option, const struct document *document, const yaml_node_t *n, void *base,
                struct error *error);
    /*
     * Parses the value of a flag, and appends the value if the option is a list. NULL for a type that flags cannot set.
     */
    int (*parse)(const struct option *option, const char *text, void *base, struct error *error);
    /*
     * Returns the value in the form that the file uses, or NULL when out of memory. The function pointer is NULL for
     * types whose values are not shown.
     */
    json_t *(*json)(const struct option *option, const void *base);
    void (*done)(const struct option *option, void *base);
};

struct option {
    const char *path; /* "web.min_interval" */
    const struct option_type *type;
    size_t offset;       /* offset of the member that the option sets */
    size_t count_offset; /* for a list: offset of the member with the number of items */
    /*
     * Limits of a number, of a duration in nanoseconds, or of the number of items in a list. For a list, a `max` of 0
     * means 64.
     */
    uint64_t min, max;
    /* The keywords of an enum, or those that are accepted in place of a number. A NULL word ends the array. */
    const struct option_choice *choices;
    /* Checks a string, a number or a list item; may be NULL. */
    int (*check)(const char *text, struct error *error);
    bool extends;             /* the list item "default" stands for all items of the default list */
    const char *range;        /* description of the accepted values, for messages */
    const char *default_yaml; /* NULL for a key without a default */
};

struct option_table {
    const struct option *rows;
    size_t n;
    bool null_is_absent;              /* a key without a value counts as absent */
    const struct option_table *other; /* table of another file that is easily confused with this one; may be NULL */
    const char *other_hint;           /* hint in error messages about keys that belong to `other` */
};

/* Returns the row of the key at `path`, or NULL if the table does not have this key. */
const struct option *option_table_find(const struct option_table *table, const char *path);
/*
 * Reads each key of `map` into its member of `base`. A dot in a row's path means a nested map; if a nested map is
 * absent or null, the members that its keys set are not changed. Returns -EINVAL, with the most similar names, for an
 * unknown key. `ret_nodes` may be NULL; otherwise it has one element for each row of the table, which is set to the
 * node of the row's value. Elements for absent keys are left alone, so the caller must zero the array first.
 */
int option_table_read(const struct option_table *table, const struct document *document, const yaml_node_t *map,
                      void *base, const yaml_node_t **ret_nodes, struct error *error);

extern const struct option_type option_bool;            /* bool */
extern const struct option_type option_deprecated_bool; /* bool; read, but never shown */
extern const struct option_type option_choice;          /* an enum, with its keywords in option->choices */
extern const struct option_type option_text;            /* char *, or NULL if the key is absent */
extern const struct option_type option_text_list;       /* char **, with the number of items at count_offset */
extern const struct option_type option_number;          /* uint64_t */
extern const struct option_type option_duration;        /* uint64_t, nanoseconds */
extern const struct option_type option_size;            /* uint64_t, bytes */

/*
 * Returns the address of the member that the option sets. This function and the next ones are helpers for option types.
 */
static inline void *option_member(const struct option *option, const void *base)
{
    return (char *)base + option->offset;
}
/* Implementations of option_type.done, for values that own no memory and for strings. */
void option_done_nothing(const struct option *option, void *base);
void option_done_text(const struct option *option, void *base);
/* Sets the error message to "KEY: expected EXPECTED, found ..." with the position of `n`, and returns -EINVAL. */
int option_expected(const struct option *option, const struct document *document, const yaml_node_t *n,
                    const char *expected, struct error *error);
/*
 * Stores a number that was parsed from `text` with the result `r`. Returns -EINVAL with a message if the number is out
 * of range, fails the option's check, or could not be parsed. If the number could not be parsed, the message names
 * `expected` as the expected value.
 */
int option_set_number(const struct option *option, const char *text, int r, uint64_t value, const char *expected,
                      void *base, struct error *error);
/*
 * Reads a scalar node with the option type's function `parse`, and adds the position and the key to the error of that
 * function.
 */
int option_read_text(const struct option *option, const struct document *document, const yaml_node_t *n, void *base,
                     struct error *error);

/* These functions validate one value. They return 0, -EINVAL with a message, or -ENOMEM. */
int option_check_not_empty(const char *text, struct error *error);
int option_check_address(const char *text, struct error *error); /* config/address.h */
int option_check_telemetry_path(const char *text, struct error *error);
int option_check_host(const char *text, struct error *error);          /* a host name without a port */
int option_check_cpus(const char *text, struct error *error);          /* "all" or a list of CPUs */
int option_check_pattern(const char *text, struct error *error);       /* a pattern for cgroup paths or names */
int option_check_sampled_event(const char *text, struct error *error); /* "auto" or one group of events */
int option_check_tracepoint(const char *text, struct error *error);
int option_check_power_of_two(const char *text, struct error *error);

#endif
