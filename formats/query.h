/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parameters of a request that select counters and order rates.
 *
 * A filter is made from the parameters `collector` (`collect[]` in scrapes, as in node_exporter), `cpu`, `pmu`,
 * `cgroup`, `group`, `event`, and the kinds of names, such as `container` and `unit` (cgroups/names.h). Values of the
 * same parameter are alternatives. A counter must match every parameter that is given.
 *
 * A `cgroup` is a glob pattern (base/glob.h). It is matched against the whole path or, if it contains no slash, against
 * the last path component: "*.service" selects all services. It matches the cgroup's label as well as its path. Names
 * are matched in the same way: the image "nginx:*" also matches "docker.io/library/nginx:1.25".
 *
 * An order is made from the parameters `sort`, `order` and `limit`.
 */
#ifndef FORMATS_QUERY_H
#define FORMATS_QUERY_H

#include "base/error.h"
#include "base/intern.h"
#include "cgroups/names.h"
#include "collectors/rates.h"
#include "collectors/snapshot.h"

enum filter_key {
    FILTER_CPU,
    FILTER_PMU,
    FILTER_CGROUP,
    FILTER_GROUP,
    FILTER_EVENT,
    FILTER_NAME, /* FILTER_NAME + k is the kind of name k */
    N_FILTER_KEYS = FILTER_NAME + N_NAME_KEYS
};

struct filter_term {
    enum filter_key key;
    const char *text;     /* borrowed; a pattern for FILTER_CGROUP and for names */
    unsigned first, last; /* the range of CPUs, for FILTER_CPU */
    /*
     * If the pattern contains bytes that cannot occur in a label, as in a path with an escape, these are the two forms
     * of the label (cgroups/path.h). NULL if the pattern is printable.
     */
    char *labels[2];
};

struct filter {
    uint32_t mask; /* one bit per collector that was named; 0: none was named */
    struct filter_term *terms;
    size_t n;
    unsigned given[N_FILTER_KEYS]; /* number of terms with each key */
};

void filter_done(struct filter *filter);
/*
 * Adds one parameter of the request. `value` must outlive the filter. Returns -EINVAL with a sentence that names the
 * parameter and its valid values, -ENOENT if the filter has no such parameter, -ENOMEM.
 */
int filter_add(struct filter *filter, const char *const *collector_names, const char *name, const char *value,
               struct error *error);

/*
 * Checks that the events, groups, PMUs and CPUs can exist on this machine. Returns -EINVAL with a
 * sentence that names the parameter and lists the known values. Patterns of cgroups and of names are not checked,
 * because cgroups come and go.
 */
int filter_check(const struct filter *filter, const struct snapshot *snapshot, struct error *error);

/* The collectors that must be read, one bit each. All of them if `filter` is NULL. */
uint32_t filter_mask(const struct filter *filter);
/* Whether the filter selects by names of what runs in cgroups. */
bool filter_has_names(const struct filter *filter);
/* Whether the filter selects by collector only, or is NULL. */
bool filter_is_mask(const struct filter *filter);

/*
 * Returns whether `wanted` stands for the event `name` of a metric. A client may use this name or that of the
 * configuration: page-faults and L1-dcache-load-misses for page_faults and l1_dcache_load_misses.
 */
bool filter_event_matches(const char *wanted, const char *name);

/*
 * A NULL filter passes everything. Rows are selected by collector, cpu, cgroup, names and group; counters by event and
 * pmu.
 */
bool filter_passes_row(const struct filter *filter, const struct row *row);
bool filter_passes_counter(const struct filter *filter, const struct counter *counter);
/* Whether the row and at least one of its counters pass. */
bool filter_passes_some(const struct filter *filter, const struct row *row);

struct order {
    const char *sort; /* event or derived metric; borrowed; NULL: rows are not sorted */
    bool given;       /* the parameter `order` was given */
    bool ascending;
    size_t limit; /* limit of the number of targets; 0: no limit */
};

/* The target of a row: a cgroup, a CPU, or else a PMU. */
struct order_target {
    const char *collector, *cgroup; /* `cgroup` is NULL or "" if the row is not of a cgroup */
    int cpu;                        /* -1: the row is not of one CPU */
    const char *pmu;
};

/* Adds one parameter. The arguments and errors are those of filter_add(). */
int order_add(struct order *order, const char *name, const char *value, struct error *error);
/*
 * Makes the error for a client that sorts by a name that exists but that no row has. The sentence says why the event is
 * missing, and suggests CPU time instead if that is known. Only rows that `passes` accepts are considered. Returns
 * -EINVAL.
 */
int order_refuse(const struct order *order, const struct snapshot *snapshot,
                 bool (*passes)(const void *userdata, const struct row *row), const void *userdata,
                 struct error *error);
/* Returns whether rows can be sorted by a value that this row has. */
bool order_has_name(const struct order *order, const struct snapshot *snapshot, const struct row *row);
/*
 * Checks the order against the rows that pass `filter` (NULL: all). Returns -EINVAL with a sentence that lists the
 * names to sort by, or explains why no row has the given one. If no row passes the filter, every known name is valid.
 */
int order_check(const struct order *order, const struct filter *filter, const struct snapshot *snapshot,
                struct error *error);

/* An item to sort: a row, or a line of the history. */
struct order_key {
    const void *item;
    struct order_target target;
    double value;    /* NAN if unknown; such items are sorted last */
    size_t position; /* set by order_apply() */
};

struct order_key order_key_of(const struct row *row, double value);
/* The sort key of a row, from its rates. NAN if the row does not have it. */
double order_value(const struct order *order, const struct rates *rates);
/*
 * Sorts `n` items. The first *ret_n of them are within the limit. Items with equal values keep their order. Returns
 * -ENOMEM on failure.
 */
int order_apply(const struct order *order, struct order_key *keys, size_t n, size_t *ret_n);

#endif
