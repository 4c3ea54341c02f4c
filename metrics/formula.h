/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parsing and evaluation of the formulas of derived metrics, such as "1000 * branch_misses / instructions". Pure.
 *
 * A formula has decimal numbers, + - * / and parentheses with the usual precedence, and names of [a-z0-9_] that start
 * with a letter. There are no unary signs.
 *
 * A `struct metric_set` is the set of derived metrics that the events of one group allow. The set is built once per
 * list of events; after that, each reading costs only a few operations.
 */
#ifndef METRICS_FORMULA_H
#define METRICS_FORMULA_H

#include "base/error.h"
#include "metrics/derived.h"

#define FORMULA_NAMES_MAX 16
#define FORMULA_STEPS_MAX 64
#define FORMULA_NAME_SIZE 48

/* A step in reverse Polish notation: a number, an operand, or an operator that applies to the two topmost values. */
struct formula_step {
    enum { FORMULA_NUMBER, FORMULA_OPERAND, FORMULA_OPERATOR } kind;
    unsigned operand; /* index into `names` of the formula */
    char sign;        /* operator: one of + - * / */
    double number;
};

struct formula {
    char names[FORMULA_NAMES_MAX][FORMULA_NAME_SIZE]; /* the distinct names in the formula, in order of appearance */
    size_t n_names;
    struct formula_step steps[FORMULA_STEPS_MAX];
    size_t n_steps;
};

/*
 * Returns -EINVAL, with the offset of the offending character in `error`, if the formula is invalid or exceeds the
 * limits above.
 */
int formula_parse(const char *text, struct formula *ret, struct error *error);

/* Copies the first name in a valid formula, or "" if there is none. Much cheaper than formula_parse(). */
void formula_first_name(const char *text, char name[FORMULA_NAME_SIZE]);

/*
 * Evaluates the steps of a parsed formula; operands[i] is the value of names[i]. The result is NAN if an operand is
 * NAN, or if a divisor is not greater than 0.
 */
double formula_value(const struct formula_step *steps, size_t n, const double *operands);

/* The events of a group on a target. All strings are borrowed and must outlive the metric sets made from them. */
struct metric_set_events {
    enum derived_target target;
    const char *pmu;
    unsigned slots; /* issue slots per cycle of a CPU of this PMU (metrics/derived.h); 0 if unknown */
    const char *const *events;
    size_t n;
};

struct metric_set;

/* Copies the array of events, but not the strings. Returns NULL when out of memory. */
struct metric_set *metric_set_new(const struct metric_set_events *events);
struct metric_set *metric_set_free(struct metric_set *metric_set);

/*
 * Returns whether the metric set was created from the same events as these. Strings are compared by address, so all
 * strings must be from one intern set.
 */
bool metric_set_is_of(const struct metric_set *metric_set, const struct metric_set_events *events);

/* A metric set has at most this many metrics; further ones are dropped. */
#define METRIC_SET_MAX 48

/* Times between two readings. If several targets are added up, all members except the interval are sums. */
struct metric_set_times {
    double running, enabled; /* time_running and time_enabled, in seconds */
    double busy;             /* seconds in which the CPUs of the target were busy (perf/busy.h); NAN if unknown */
    double interval;         /* length of the interval between the readings, in seconds */
};

/* Returns the number of issue slots that the metric set was made with. */
unsigned metric_set_slots(const struct metric_set *metric_set);
/* Return the number of metrics, and metric `i`, which must be below that number. */
size_t metric_set_count(const struct metric_set *metric_set);
const struct derived_metric *metric_set_metric(const struct metric_set *metric_set, size_t i);
/* Returns the formula that applies to metric `i`. */
const struct derived_formula *metric_set_formula(const struct metric_set *metric_set, size_t i);
/* Returns whether metric `i` uses event `k`. */
bool metric_set_uses_event(const struct metric_set *metric_set, size_t i, size_t k);
/* Returns whether metric `i` uses the busy time of CPUs. */
bool metric_set_uses_busy_time(const struct metric_set *metric_set, size_t i);
/* Returns whether metric `i` uses two or more events. */
bool metric_set_compares_events(const struct metric_set *metric_set, size_t i);
/* Returns the value of metric `i`, or NAN if unknown. rates[k] is the rate per second of event k, or NAN if unknown. */
double metric_set_value(const struct metric_set *metric_set, size_t i, const double *rates,
                        const struct metric_set_times *times);

#endif
