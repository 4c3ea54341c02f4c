/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The formula of a derived metric: "1000 * branch_misses / instructions". It has decimal numbers, + - * / ( ) with
 * their usual precedence, and names of [a-z0-9_] that start with a letter. There is no sign before an operand. Pure.
 *
 * The derived metrics that a list of events has, which are counted together in one group. It is found once for the
 * events of a group; then each reading costs a few operations.
 */
#ifndef METRICS_FORMULA_H
#define METRICS_FORMULA_H

#include "base/error.h"
#include "metrics/derived.h"

#define FORMULA_NAMES_MAX 16
#define FORMULA_STEPS_MAX 64
#define FORMULA_NAME_SIZE 48

/* A step of the formula in reverse Polish notation: a number, an operand by its index, or an operator on the last two.
 */
struct formula_step {
    enum { FORMULA_NUMBER, FORMULA_OPERAND, FORMULA_OPERATOR } kind;
    unsigned operand; /* at first the index in `names`; whoever gives the operands may renumber them */
    char sign;        /* of an operator: + - * / */
    double number;
};

struct formula {
    char names[FORMULA_NAMES_MAX][FORMULA_NAME_SIZE]; /* each once, in order of appearance */
    size_t n_names;
    struct formula_step steps[FORMULA_STEPS_MAX];
    size_t n_steps;
};

/* -EINVAL with the error at the offending character; also for a formula that is too large. */
int formula_parse(const char *text, struct formula *ret, struct error *error);

/* The first name in the text, which formula_parse() takes; "" where there is none. Much cheaper than all of it. */
void formula_first_name(const char *text, char name[FORMULA_NAME_SIZE]);

/*
 * The value for these operands, by their index. NAN where an operand that it needs is NAN, or a divisor is not greater
 * than 0: a ratio of nothing has no value. `steps` are those of a parsed formula.
 */
double formula_value(const struct formula_step *steps, size_t n, const double *operands);

/* The events of a group on a target. Borrowed; they must live as long as what is made of them. */
struct derivation_events {
    enum derived_target target;
    const char *pmu;
    unsigned slots; /* of a CPU of this PMU; 0 where they are not known */
    const char *const *events;
    size_t n;
};

struct derivation;

/* NULL when out of memory. It keeps a copy of the array, not of the texts. */
struct derivation *derivation_new(const struct derivation_events *events);
struct derivation *derivation_free(struct derivation *derivation);

/* Whether it was made of these. Texts are compared by their address: they are those of one intern set. */
bool derivation_is_of(const struct derivation *derivation, const struct derivation_events *events);

/* The most metrics that one list of events has. */
#define DERIVATION_METRICS_MAX 48

/* Seconds in the interval. */
struct derivation_times {
    double running, enabled;
};

/* The number of metrics, and each. */
size_t derivation_count(const struct derivation *derivation);
const struct derived_metric *derivation_metric(const struct derivation *derivation, size_t i);
/* The formula of that metric, of the table. */
const struct derived_formula *derivation_formula(const struct derivation *derivation, size_t i);
/* Whether it is made of two events or more. */
bool derivation_compares_events(const struct derivation *derivation, size_t i);
/* Its value; `rates` are per second, by event, NAN where one is not known. NAN where the metric has no value. */
double derivation_value(const struct derivation *derivation, size_t i, const double *rates,
                        const struct derivation_times *times);

#endif
