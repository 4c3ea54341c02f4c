/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parameters of a request that select counters and order rates.
 *
 * A filter consists of the parameters `collector` (`collect[]` in scrapes, as in node_exporter), `cpu`, `pmu`,
 * `cgroup`, `group`, `event`, and the kinds of names, such as `container` and `unit` (cgroups/names.h). Several values
 * of the same parameter are alternatives. A counter must match every parameter that is given.
 *
 * A `cgroup` is a glob pattern (base/glob.h). The pattern is matched against the cgroup's whole path or, if the pattern
 * contains no slash, against the last path component: "*.service" selects all services. A cgroup matches by its label
 * as well as by its path. Container, unit and other names are matched in the same way: the image pattern "nginx:*" also
 * matches "docker.io/library/nginx:1.25".
 *
 * A struct order holds the parameters `sort`, `order` and `limit`.
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
    FILTER_NAME, /* FILTER_NAME + k stands for names of the kind k */
    N_FILTER_KEYS = FILTER_NAME + N_NAME_KEYS
};

struct filter_term {
    enum filter_key key;
    const char *text;     /* value, borrowed; for FILTER_CGROUP and for names, a pattern */
    unsigned first, last; /* range of CPUs for FILTER_CPU */
    /*
     * If the pattern contains bytes that a label cannot contain, such as an escape character, the pattern in both label
     * forms (cgroups/path.h); otherwise NULL.
     */
    char *labels[2];
};

struct filter {
    uint32_t mask; /* a bit for each collector that was named; 0 if none was */
    struct filter_term *terms;
    size_t n;
    unsigned given[N_FILTER_KEYS]; /* number of filter terms for each key */
};

void filter_done(struct filter *filter);
/*
 * Adds one parameter of the request. `value` must outlive the filter. Returns -EINVAL with a message that names the
 * parameter and its valid values, -ENOENT if the filter has no such parameter, or -ENOMEM.
 */
int filter_add(struct filter *filter, const char *const *collector_names, const char *name, const char *value,
               struct error *error);

/*
 * Checks that the events, groups, PMUs and CPUs can exist on this machine. Returns -EINVAL with a message that names
 * the parameter and lists the known values. Cgroup and name patterns are not checked, because cgroups come and go.
 */
int filter_check(const struct filter *filter, const struct snapshot *snapshot, struct error *error);

/* Returns the mask of the collectors to read: all of them if `filter` is NULL. */
uint32_t filter_mask(const struct filter *filter);
/* Returns whether the filter selects rows by container, unit or other names. */
bool filter_has_names(const struct filter *filter);
/* Returns whether the filter is NULL or only selects by collector. */
bool filter_is_mask(const struct filter *filter);

/*
 * Returns whether `wanted` stands for the event `name` of a metric. A client may use the event's name in metrics, such
 * as page_faults and l1_dcache_load_misses, or in the configuration, such as page-faults and L1-dcache-load-misses.
 */
bool filter_event_matches(const char *wanted, const char *name);

/*
 * A NULL filter passes everything. Rows are selected by collector, cpu, cgroup, names and group; counters by event and
 * pmu.
 */
bool filter_passes_row(const struct filter *filter, const struct row *row);
bool filter_passes_counter(const struct filter *filter, const struct counter *counter);
/* Returns whether the row and at least one of its counters pass the filter. */
bool filter_passes_some(const struct filter *filter, const struct row *row);

struct order {
    const char *sort; /* name of an event or derived metric, borrowed, or NULL if rows are not sorted */
    bool given;       /* whether the parameter `order` was given */
    bool ascending;
    size_t limit; /* maximum number of targets; 0 for no limit */
};

/* The target of a row: a cgroup, a CPU, or else a PMU. */
struct order_target {
    const char *collector, *cgroup; /* `cgroup` is NULL or "" if the row belongs to no cgroup */
    int cpu;                        /* -1 if the row is not for a single CPU */
    const char *pmu;
};

/* Adds one parameter of the request. Takes the same arguments and returns the same errors as filter_add(). */
int order_add(struct order *order, const char *name, const char *value, struct error *error);
/*
 * Sets the error for a sort name that exists, but that no row has. The message says why the event is missing, and
 * suggests sorting by CPU time if CPU time is known. Only rows that `passes` accepts are considered. Returns -EINVAL.
 */
int order_refuse(const struct order *order, const struct snapshot *snapshot,
                 bool (*passes)(const void *userdata, const struct row *row), const void *userdata,
                 struct error *error);
/* Returns whether rows can be sorted by a value that this row has. */
bool order_has_name(const struct order *order, const struct snapshot *snapshot, const struct row *row);
/*
 * Checks the order against the rows that pass `filter` (NULL: all). Returns -EINVAL with a message that lists the valid
 * names, or explains why no row has the given name. If no row passes the filter, any known name is valid.
 */
int order_check(const struct order *order, const struct filter *filter, const struct snapshot *snapshot,
                struct error *error);

/* An item to sort: a row, or a line of the history. */
struct order_key {
    const void *item;
    struct order_target target;
    double value;    /* sort key; an unknown key is NAN and sorted last */
    size_t position; /* position before sorting; set by order_apply() */
};

struct order_key order_key_of(const struct row *row, double value);
/* Returns the sort key of a row from its rates, or NAN if the row has no such key. */
double order_value(const struct order *order, const struct rates *rates);
/* Sorts `n` items stably; the first *ret_n items are within the order's limit. Returns -ENOMEM on failure. */
int order_apply(const struct order *order, struct order_key *keys, size_t n, size_t *ret_n);

#endif
