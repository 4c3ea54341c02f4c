/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The formula of a derived metric: "1000 * branch_misses / instructions". It has decimal numbers, + - * / ( ) with
 * their usual precedence, and names of [a-z0-9_] that start with a letter. There is no sign before an operand. Pure.
 */
#ifndef METRICS_FORMULA_H
#define METRICS_FORMULA_H

#include "base/error.h"

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

#endif
