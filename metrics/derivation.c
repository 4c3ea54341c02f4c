/* SPDX-License-Identifier: Apache-2.0 */
/* The derived metrics that a list of events has: see derivation.h. */
#include "metrics/derivation.h"

#include <math.h>

#include "base/cleanup.h"
#include "base/glob.h"
#include "metrics/formula.h"

/* The operands of a formula that are no events stand behind these. */
enum { OPERAND_RUNNING_TIME, OPERAND_ENABLED_TIME, OPERAND_SLOTS, OPERAND_EVENTS };

struct derivation_item {
    const struct derived_metric *metric;
    const struct derived_formula *formula;
    struct formula_step *steps;
    uint32_t n_steps, n_operands;
    uint32_t operands[FORMULA_NAMES_MAX]; /* OPERAND_..., or OPERAND_EVENTS and the index of the event */
};

struct derivation {
    struct derivation_events of;
    const char **events;
    struct derivation_item *items;
    size_t n;
};

static bool find_operand(const struct derivation_events *of, const char *name, uint32_t *ret)
{
    static const char *const others[] = {
        [OPERAND_RUNNING_TIME] = "running_time", [OPERAND_ENABLED_TIME] = "enabled_time", [OPERAND_SLOTS] = "slots"};

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

/* Whether the events have all that the formula needs. */
static bool item_find_operands(struct derivation_item *item, const struct derivation_events *of,
                               const struct formula *formula)
{
    for (size_t i = 0; i < formula->n_names; i++)
        if (!find_operand(of, formula->names[i], &item->operands[i]))
            return false;
    item->n_operands = (uint32_t)formula->n_names;
    return true;
}

static int derivation_add(struct derivation *derivation, const struct derivation_item *item,
                          const struct formula *formula)
{
    struct formula_step *steps = calloc(formula->n_steps, sizeof(*steps));

    if (!steps || array_grow(&derivation->items, derivation->n) < 0) {
        free(steps);
        return -ENOMEM;
    }
    memcpy(steps, formula->steps, formula->n_steps * sizeof(*steps));
    derivation->items[derivation->n] = *item;
    derivation->items[derivation->n].steps = steps;
    derivation->items[derivation->n++].n_steps = (uint32_t)formula->n_steps;
    return 0;
}

/* A group has few of the events of the table: for most formulas, their first name shows that. */
static bool may_have(const struct derivation_events *of, const struct derived_formula *formula)
{
    char first[FORMULA_NAME_SIZE];
    uint32_t operand;

    if (formula->pmu && !glob_match(formula->pmu, of->pmu))
        return false;
    formula_first_name(formula->text, first);
    return find_operand(of, first, &operand);
}

/* Adds the metric where the events have one of its formulas. */
static int derivation_consider(struct derivation *derivation, const struct derived_metric *metric)
{
    const struct derivation_events *of = &derivation->of;
    struct formula formula;

    if (!(metric->targets & of->target))
        return 0;
    for (size_t i = 0; i < DERIVED_FORMULAS_MAX && metric->formulas[i].text; i++) {
        struct derivation_item item = {.metric = metric, .formula = &metric->formulas[i]};
        if (!may_have(of, item.formula))
            continue;
        if (formula_parse(item.formula->text, &formula, NULL) == 0 && item_find_operands(&item, of, &formula))
            return derivation_add(derivation, &item, &formula);
    }
    return 0;
}

DEFINE_CLEANUP(struct derivation *, derivation_free);

struct derivation *derivation_new(const struct derivation_events *events)
{
    _cleanup_(derivation_freep) struct derivation *derivation = calloc(1, sizeof(*derivation));
    const struct derived_metric *metric;
    int r = 0;

    if (!derivation)
        return NULL;
    derivation->events = calloc(events->n + 1, sizeof(derivation->events[0]));
    if (!derivation->events)
        return NULL;
    for (size_t i = 0; i < events->n; i++)
        derivation->events[i] = events->events[i];
    derivation->of = *events;
    derivation->of.events = derivation->events;
    for (size_t i = 0; r == 0 && derivation->n < DERIVATION_METRICS_MAX && (metric = derived_at(i)); i++)
        r = derivation_consider(derivation, metric);
    return r < 0 ? NULL : steal(derivation);
}

struct derivation *derivation_free(struct derivation *derivation)
{
    if (!derivation)
        return NULL;
    for (size_t i = 0; i < derivation->n; i++)
        free(derivation->items[i].steps);
    free(derivation->items);
    free(derivation->events);
    free(derivation);
    return NULL;
}

bool derivation_is_of(const struct derivation *derivation, const struct derivation_events *events)
{
    const struct derivation_events *of = &derivation->of;

    if (of->target != events->target || of->pmu != events->pmu || of->slots != events->slots || of->n != events->n)
        return false;
    for (size_t i = 0; i < of->n; i++)
        if (of->events[i] != events->events[i])
            return false;
    return true;
}

size_t derivation_count(const struct derivation *derivation)
{
    return derivation->n;
}

const struct derived_metric *derivation_metric(const struct derivation *derivation, size_t i)
{
    return derivation->items[i].metric;
}

const struct derived_formula *derivation_formula(const struct derivation *derivation, size_t i)
{
    return derivation->items[i].formula;
}

bool derivation_compares_events(const struct derivation *derivation, size_t i)
{
    const struct derivation_item *item = &derivation->items[i];
    size_t n = 0;

    for (size_t k = 0; k < item->n_operands; k++)
        n += item->operands[k] >= OPERAND_EVENTS;
    return n > 1;
}

static double operand_value(const struct derivation *derivation, uint32_t operand, const double *rates,
                            const struct derivation_times *times)
{
    switch (operand) {
    case OPERAND_RUNNING_TIME:
        return times->running;
    case OPERAND_ENABLED_TIME:
        return times->enabled;
    case OPERAND_SLOTS:
        return derivation->of.slots;
    default:
        return rates[operand - OPERAND_EVENTS];
    }
}

double derivation_value(const struct derivation *derivation, size_t i, const double *rates,
                        const struct derivation_times *times)
{
    const struct derivation_item *item = &derivation->items[i];
    double operands[FORMULA_NAMES_MAX];

    for (size_t k = 0; k < item->n_operands; k++)
        operands[k] = operand_value(derivation, item->operands[k], rates, times);
    return formula_value(item->steps, item->n_steps, operands);
}
