/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The counters that a client asks for: parameters `collector` (in scrapes `collect[]`, as node_exporter has it), `cpu`,
 * `pmu`, `cgroup`, `group`, `event`, and those of names, `container`, `unit` and so on (cgroups/names.h). Values of
 * one parameter are alternatives; a counter must satisfy each parameter that is given.
 *
 * A `cgroup` is a pattern of the whole path, or, without a slash, of its last component: "*.service" is all services.
 * So is a name, as of an image: "nginx:*" is "docker.io/library/nginx:1.25", too. A cgroup is found by its label and by
 * its path.
 *
 * The order and the number of the rates that a client wants: parameters `sort`, `order` and `limit`.
 */
#ifndef FORMATS_QUERY_H
#define FORMATS_QUERY_H

#include "base/error.h"
#include "cgroups/names.h"
#include "collectors/rates.h"
#include "collectors/snapshot.h"

enum filter_key {
    FILTER_CPU,
    FILTER_PMU,
    FILTER_CGROUP,
    FILTER_GROUP,
    FILTER_EVENT,
    FILTER_NAME, /* and the numbers behind it: the kinds of names */
    N_FILTER_KEYS = FILTER_NAME + N_NAME_KEYS
};

struct filter_term {
    enum filter_key key;
    const char *text;     /* borrowed; for FILTER_CGROUP and names a pattern of base/glob.h */
    unsigned first, last; /* of FILTER_CPU */
    /*
     * Of a pattern with bytes that labels do not have, as of a path with an escape: the two forms that its label may
     * have (cgroups/path.h). NULL where the pattern is printable.
     */
    char *labels[2];
};

struct filter {
    uint32_t mask; /* a bit for each collector that was named; 0 if none was */
    struct filter_term *terms;
    size_t n;
    unsigned given[N_FILTER_KEYS]; /* the number of terms of each key */
    bool names_given;              /* of any key of names; most requests have none */
};

void filter_done(struct filter *filter);
/*
 * Adds one parameter of the request; `value` must outlive the filter. -EINVAL with a sentence that names the parameter
 * and the values that it takes; -ENOENT if this is not a parameter of the filter; -ENOMEM.
 */
int filter_add(struct filter *filter, const char *const *collector_names, const char *name, const char *value,
               struct error *error);

/*
 * Checks events, groups, PMUs and CPUs against those that can be here (see collectors/known.h): -EINVAL with a sentence
 * that names the parameter, and lists what is known. Cgroups and their names come and go: a pattern that matches none
 * is no error.
 */
int filter_check(const struct filter *filter, const struct snapshot *snapshot, struct error *error);

/* The collectors that must be read; all of them if `filter` is NULL. */
uint32_t filter_mask(const struct filter *filter);
/* Whether it chooses by collector alone. */
bool filter_is_mask(const struct filter *filter);

/* NULL passes all. A row passes by collector, cpu, cgroup, names and group; a counter by event and pmu. */
bool filter_passes_row(const struct filter *filter, const struct row *row);
bool filter_passes_counter(const struct filter *filter, const struct counter *counter);
/* Whether the row and at least one of its counters pass. */
bool filter_passes_some(const struct filter *filter, const struct row *row);

struct order {
    const char
        *sort; /* an event or a ratio, as filter_event_matches() takes it; borrowed; NULL leaves the rows as they are */
    bool given; /* the parameter `order` was given */
    bool ascending;
    size_t limit; /* 0 for all */
};

/* Takes one parameter, as filter_add() does. */
int order_add(struct order *order, const char *name, const char *value, struct error *error);
/*
 * Checks the order against the rows of the snapshot that pass `filter` (NULL: all). -EINVAL with a sentence that lists
 * the names to sort by, or says why no row has the one that was given. Where no row passes, any known name will do.
 */
int order_check(const struct order *order, const struct filter *filter, const struct snapshot *snapshot,
                struct error *error);

/* A row with the value that it is sorted by. */
struct order_key {
    const struct row *row;
    double value; /* NAN if it is not known: these rows come last */
};

/* The value to sort the rates of a row by; NAN if the row has none. */
double order_value(const struct order *order, const struct rates *rates);
/* Sorts `n` rows. Returns the number of rows that the client wants, from the first. */
size_t order_apply(const struct order *order, struct order_key *keys, size_t n);

#endif
