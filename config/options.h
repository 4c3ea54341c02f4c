/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of keys: path, type, range, default and help of each, one row a key. The loader, flags, check-config,
 * /api/v1/config, --help and the check of the manual page follow it, and nothing else knows the keys.
 */
#ifndef CONFIG_OPTIONS_H
#define CONFIG_OPTIONS_H

#include <jansson.h>

#include "config/document.h"

struct option;

/* A word that a value can be, and the enumerator that it means. */
struct option_choice {
    const char *word;
    unsigned value;
};

/*
 * What the values of one type can do. `base` is the struct of which the option sets a member; what was there before is
 * freed. On failure it is untouched.
 */
struct option_type {
    const char *name; /* for the manual: "duration" */
    /* From the file; -EINVAL with the place. */
    int (*read)(const struct option *option, const struct document *document, const node *n, void *base,
                struct error *error);
    /* From a flag; a list grows by the item. NULL where no flag can say it. */
    int (*parse)(const struct option *option, const char *text, void *base, struct error *error);
    /* The value as the file would have it; NULL when out of memory. NULL itself for a type that is never shown. */
    json_t *(*json)(const struct option *option, const void *base);
    void (*done)(const struct option *option, void *base);
};

struct option {
    const char *path; /* "web.min_interval" */
    const struct option_type *type;
    size_t offset;       /* of the member */
    size_t count_offset; /* of a list: of the member that counts */
    uint64_t min, max;   /* of a number; of a duration, nanoseconds; of a list, how many items; `max` 0: 64 */
    const struct option_choice *choices;                 /* of an enum, ended by one without a word */
    int (*check)(const char *text, struct error *error); /* of a text or number, and of each of a list; may be NULL */
    const char *range;                                   /* in words */
    const char *fallback; /* the default, as YAML; NULL for a key that must be there or may be absent */
    const char *help;     /* a sentence without the final stop */
};

struct option_table {
    const struct option *rows;
    size_t n;
    bool null_is_absent; /* a key without a value is as if it was not there */
};

extern const struct option_table config_options; /* of struct config */
extern const struct option_table group_options;  /* of struct config_group, for each item of a `groups` */
extern const struct option_table event_options;  /* of struct event_text, for an item of `events` that is a map */

/* Indices into group_options and event_options. */
enum { GROUP_NAME, GROUP_EVENTS, GROUP_STRICT, GROUP_OPTIONS };
enum { EVENT_OPTION_EVENT, EVENT_OPTION_NAME, EVENT_OPTION_HELP, EVENT_OPTIONS };

/* An item of `events` as it is written. */
struct event_text {
    char *event, *name, *help;
};

/* The row of a key; NULL where there is none. */
const struct option *option_table_find(const struct option_table *table, const char *path);

#endif
