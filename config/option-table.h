/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of keys: path, type, range, default and help of each key in one row; and how a YAML map is read by a table. */
#ifndef CONFIG_OPTION_TABLE_H
#define CONFIG_OPTION_TABLE_H

#include <jansson.h>

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

#endif
