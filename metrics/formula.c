/* SPDX-License-Identifier: Apache-2.0 */
#include "metrics/formula.h"

#include <math.h>

#include "base/cleanup.h"
#include "base/glob.h"
#include "base/number.h"

/* --- formulas --- */

static bool starts_name(char c)
{
    return c >= 'a' && c <= 'z';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* strspn(3) would dominate the parsing time, since each call builds a table of the characters. */
static size_t name_size(const char *text)
{
    size_t size = 0;

    while (starts_name(text[size]) || is_digit(text[size]) || text[size] == '_')
        size++;
    return size;
}

static size_t number_size(const char *text)
{
    size_t size = 0;

    while (is_digit(text[size]) || text[size] == '.')
        size++;
    return size;
}

/* Maximum nesting of parentheses; bounds the recursion. */
#define DEPTH_MAX 8

struct formula_parser {
    const char *text, *at;
    struct formula *formula;
    unsigned depth; /* open parentheses */
    struct error *error;
};

static int parser_fail(const struct formula_parser *parser, const char *message)
{
    return error_set_at(parser->error, -EINVAL, (size_t)(parser->at - parser->text), "%s", message);
}

static void parser_skip_spaces(struct formula_parser *parser)
{
    while (*parser->at == ' ')
        parser->at++;
}

static int parser_add(struct formula_parser *parser, struct formula_step step)
{
    struct formula *formula = parser->formula;

    if (formula->n_steps == FORMULA_STEPS_MAX)
        return parser_fail(parser, "the formula is too long");
    formula->steps[formula->n_steps++] = step;
    return 0;
}

static int parse_number(struct formula_parser *parser)
{
    size_t size = number_size(parser->at);
    char text[32];
    double number;

    if (size >= sizeof(text))
        return parser_fail(parser, "the number is too long");
    memcpy(text, parser->at, size);
    text[size] = '\0';
    if (number_parse_double(text, &number) < 0)
        return parser_fail(parser, "this is not a number");
    parser->at += size;
    return parser_add(parser, (struct formula_step){.kind = FORMULA_NUMBER, .number = number});
}

static int parse_name(struct formula_parser *parser)
{
    struct formula *formula = parser->formula;
    size_t size = name_size(parser->at), i = 0;

    if (size >= FORMULA_NAME_SIZE)
        return parser_fail(parser, "the name is too long");
    while (i < formula->n_names &&
           (strncmp(formula->names[i], parser->at, size) != 0 || formula->names[i][size] != '\0'))
        i++;
    if (i == FORMULA_NAMES_MAX)
        return parser_fail(parser, "the formula has too many names");
    if (i == formula->n_names)
        memcpy(formula->names[formula->n_names++], parser->at, size);
    parser->at += size;
    return parser_add(parser, (struct formula_step){.kind = FORMULA_OPERAND, .operand = (unsigned)i});
}

static int parse_sum(struct formula_parser *parser);

static int parse_parentheses(struct formula_parser *parser)
{
    if (parser->depth++ == DEPTH_MAX)
        return parser_fail(parser, "the parentheses are nested too deeply");
    parser->at++;
    int r = parse_sum(parser);
    if (r < 0)
        return r;
    if (*parser->at != ')')
        return parser_fail(parser, "expected \")\"");
    parser->at++;
    parser->depth--;
    return 0;
}

static int parse_operand(struct formula_parser *parser)
{
    int r;

    parser_skip_spaces(parser);
    if (*parser->at == '(')
        r = parse_parentheses(parser);
    else if (is_digit(*parser->at))
        r = parse_number(parser);
    else if (starts_name(*parser->at))
        r = parse_name(parser);
    else
        r = parser_fail(parser, "expected a number, a name or \"(\"");
    parser_skip_spaces(parser);
    return r;
}

/* Parses operands with `next`, separated by any of `operators`, which are left-associative. */
static int parse_chain(struct formula_parser *parser, const char *operators, int (*next)(struct formula_parser *parser))
{
    int r = next(parser);

    while (r == 0 && *parser->at && strchr(operators, *parser->at)) {
        char sign = *parser->at++;
        r = next(parser);
        if (r == 0)
            r = parser_add(parser, (struct formula_step){.kind = FORMULA_OPERATOR, .sign = sign});
    }
    return r;
}

static int parse_product(struct formula_parser *parser)
{
    return parse_chain(parser, "*/", parse_operand);
}

static int parse_sum(struct formula_parser *parser)
{
    return parse_chain(parser, "+-", parse_product);
}

int formula_parse(const char *text, struct formula *ret, struct error *error)
{
    struct formula formula = {0};
    struct formula_parser parser = {.text = text, .at = text, .formula = &formula, .error = error};
    int r = parse_sum(&parser);

    if (r == 0 && *parser.at)
        r = parser_fail(&parser, "expected an operator");
    if (r == 0)
        *ret = formula;
    return r;
}

void formula_first_name(const char *text, char name[FORMULA_NAME_SIZE])
{
    while (*text && !starts_name(*text))
        text++;
    size_t size = MIN(name_size(text), (size_t)FORMULA_NAME_SIZE - 1);
    memcpy(name, text, size);
    name[size] = '\0';
}

static double operator_value(char sign, double left, double right)
{
    switch (sign) {
    case '+':
        return left + right;
    case '-':
        return left - right;
    case '*':
        return left * right;
    default:
        return right > 0 ? left / right : NAN;
    }
}

double formula_value(const struct formula_step *steps, size_t n, const double *operands)
{
    double stack[FORMULA_STEPS_MAX];
    size_t depth = 0;

    for (size_t i = 0; i < n; i++) {
        const struct formula_step *step = &steps[i];
        if (step->kind == FORMULA_OPERATOR) {
            depth--;
            stack[depth - 1] = operator_value(step->sign, stack[depth - 1], stack[depth]);
        } else {
            stack[depth++] = step->kind == FORMULA_NUMBER ? step->number : operands[step->operand];
        }
    }
    return stack[0];
}

/* --- metric sets --- */

/* The operands other than events. Event i is operand OPERAND_EVENTS + i. */
enum { OPERAND_RUNNING_TIME, OPERAND_ENABLED_TIME, OPERAND_BUSY_TIME, OPERAND_SLOTS, OPERAND_EVENTS };

struct metric_set_item {
    const struct derived_metric *metric;
    const struct derived_formula *formula;
    struct formula_step *steps;
    uint32_t n_steps, n_operands;
    uint32_t operands[FORMULA_NAMES_MAX]; /* index of the operand of each name in the formula */
};

struct metric_set {
    struct metric_set_events of;
    const char **events;
    struct metric_set_item *items;
    size_t n;
};

static bool find_operand(const struct metric_set_events *of, const char *name, uint32_t *ret)
{
    static const char *const others[] = {
        [OPERAND_RUNNING_TIME] = "running_time",
        [OPERAND_ENABLED_TIME] = "enabled_time",
        [OPERAND_BUSY_TIME] = "busy_time",
        [OPERAND_SLOTS] = "slots",
    };

    for (uint32_t i = 0; i < ARRAY_SIZE(others); i++)
        if (str_equal(others[i], name)) {
            *ret = i;
            return i != OPERAND_SLOTS || of->slots > 0;
        }
    for (uint32_t i = 0; i < of->n; i++)
        if (derived_names_event(name, of->events[i])) {
            *ret = OPERAND_EVENTS + i;
            return true;
        }
    return false;
}

/* Returns whether all operands of the formula are available. */
static bool item_find_operands(struct metric_set_item *item, const struct metric_set_events *of,
                               const struct formula *formula)
{
    for (size_t i = 0; i < formula->n_names; i++)
        if (!find_operand(of, formula->names[i], &item->operands[i]))
            return false;
    item->n_operands = (uint32_t)formula->n_names;
    return true;
}

static int metric_set_add(struct metric_set *metric_set, const struct metric_set_item *item,
                          const struct formula *formula)
{
    struct formula_step *steps = calloc(formula->n_steps, sizeof(*steps));

    if (!steps || array_grow(&metric_set->items, metric_set->n) < 0) {
        free(steps);
        return -ENOMEM;
    }
    memcpy(steps, formula->steps, formula->n_steps * sizeof(*steps));
    metric_set->items[metric_set->n] = *item;
    metric_set->items[metric_set->n].steps = steps;
    metric_set->items[metric_set->n++].n_steps = (uint32_t)formula->n_steps;
    return 0;
}

/*
 * A quick check that avoids parsing: for most formulas, the first name already shows that they do not apply to a group.
 */
static bool may_have(const struct metric_set_events *of, const struct derived_formula *formula)
{
    char first[FORMULA_NAME_SIZE];
    uint32_t operand;

    if (formula->pmu && !glob_match(formula->pmu, of->pmu))
        return false;
    formula_first_name(formula->text, first);
    return find_operand(of, first, &operand);
}

/* Adds the metric with the first formula that applies, if any. */
static int metric_set_consider(struct metric_set *metric_set, const struct derived_metric *metric)
{
    const struct metric_set_events *of = &metric_set->of;
    struct formula formula;

    if (!(metric->targets & of->target))
        return 0;
    for (size_t i = 0; i < DERIVED_FORMULAS_MAX && metric->formulas[i].text; i++) {
        struct metric_set_item item = {.metric = metric, .formula = &metric->formulas[i]};
        if (!may_have(of, item.formula))
            continue;
        if (formula_parse(item.formula->text, &formula, NULL) == 0 && item_find_operands(&item, of, &formula))
            return metric_set_add(metric_set, &item, &formula);
    }
    return 0;
}

DEFINE_CLEANUP(struct metric_set *, metric_set_free);

struct metric_set *metric_set_new(const struct metric_set_events *events)
{
    _cleanup_(metric_set_freep) struct metric_set *metric_set = calloc(1, sizeof(*metric_set));
    const struct derived_metric *metric;
    int r = 0;

    if (!metric_set)
        return NULL;
    metric_set->events = calloc(events->n + 1, sizeof(metric_set->events[0]));
    if (!metric_set->events)
        return NULL;
    for (size_t i = 0; i < events->n; i++)
        metric_set->events[i] = events->events[i];
    metric_set->of = *events;
    metric_set->of.events = metric_set->events;
    for (size_t i = 0; r == 0 && metric_set->n < METRIC_SET_MAX && (metric = derived_at(i)); i++)
        r = metric_set_consider(metric_set, metric);
    return r < 0 ? NULL : steal(metric_set);
}

struct metric_set *metric_set_free(struct metric_set *metric_set)
{
    if (!metric_set)
        return NULL;
    for (size_t i = 0; i < metric_set->n; i++)
        free(metric_set->items[i].steps);
    free(metric_set->items);
    free(metric_set->events);
    free(metric_set);
    return NULL;
}

bool metric_set_is_of(const struct metric_set *metric_set, const struct metric_set_events *events)
{
    const struct metric_set_events *of = &metric_set->of;

    if (of->target != events->target || of->pmu != events->pmu || of->slots != events->slots || of->n != events->n)
        return false;
    for (size_t i = 0; i < of->n; i++)
        if (of->events[i] != events->events[i])
            return false;
    return true;
}

unsigned metric_set_slots(const struct metric_set *metric_set)
{
    return metric_set->of.slots;
}

size_t metric_set_count(const struct metric_set *metric_set)
{
    return metric_set->n;
}

const struct derived_metric *metric_set_metric(const struct metric_set *metric_set, size_t i)
{
    return metric_set->items[i].metric;
}

const struct derived_formula *metric_set_formula(const struct metric_set *metric_set, size_t i)
{
    return metric_set->items[i].formula;
}

bool metric_set_uses_event(const struct metric_set *metric_set, size_t i, size_t k)
{
    const struct metric_set_item *item = &metric_set->items[i];

    for (size_t operand = 0; operand < item->n_operands; operand++)
        if (item->operands[operand] == OPERAND_EVENTS + k)
            return true;
    return false;
}

bool metric_set_uses_busy_time(const struct metric_set *metric_set, size_t i)
{
    const struct metric_set_item *item = &metric_set->items[i];

    for (size_t operand = 0; operand < item->n_operands; operand++)
        if (item->operands[operand] == OPERAND_BUSY_TIME)
            return true;
    return false;
}

bool metric_set_compares_events(const struct metric_set *metric_set, size_t i)
{
    const struct metric_set_item *item = &metric_set->items[i];
    size_t n = 0;

    for (size_t k = 0; k < item->n_operands; k++)
        n += item->operands[k] >= OPERAND_EVENTS;
    return n > 1;
}

/* Busy times below this are treated as unknown, because /proc/stat is only accurate to a hundredth of a second. */
#define BUSY_MIN_SECONDS 0.1

/* Returns the busy time in seconds per second, because event rates are per second as well. */
static double busy_rate(const struct metric_set_times *times)
{
    return times->busy >= BUSY_MIN_SECONDS && times->interval > 0 ? times->busy / times->interval : NAN;
}

static double operand_value(const struct metric_set *metric_set, uint32_t operand, const double *rates,
                            const struct metric_set_times *times)
{
    switch (operand) {
    case OPERAND_RUNNING_TIME:
        return times->running;
    case OPERAND_ENABLED_TIME:
        return times->enabled;
    case OPERAND_BUSY_TIME:
        return busy_rate(times);
    case OPERAND_SLOTS:
        return metric_set->of.slots;
    default:
        return rates[operand - OPERAND_EVENTS];
    }
}

double metric_set_value(const struct metric_set *metric_set, size_t i, const double *rates,
                        const struct metric_set_times *times)
{
    const struct metric_set_item *item = &metric_set->items[i];
    double operands[FORMULA_NAMES_MAX];

    for (size_t k = 0; k < item->n_operands; k++)
        operands[k] = operand_value(metric_set, item->operands[k], rates, times);
    return formula_value(item->steps, item->n_steps, operands);
}
