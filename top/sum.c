/* SPDX-License-Identifier: Apache-2.0 */
/* One group over several PMUs or CPUs: see top-sum.h. */
#include "top/sum.h"

#include <math.h>

#include "base/cleanup.h"
#include "metrics/derivation.h"

DEFINE_CLEANUP(struct derivation *, derivation_free);

void top_sum_done(struct top_sum *sum)
{
    json_decref(sum->events);
    json_decref(sum->ratios);
    json_decref(sum->common_events);
    json_decref(sum->common_ratios);
    *sum = (struct top_sum){0};
}

static double share_counted(const json_t *ratios)
{
    const json_t *share = json_object_get(ratios, "running_ratio");

    return json_is_number(share) ? json_number_value(share) : 1;
}

/* A sum with an unknown part is unknown. */
static void add_event(json_t *events, const char *name, const json_t *rate)
{
    const json_t *before = json_object_get(events, name);

    if (!json_is_number(rate) || (before && !json_is_number(before)))
        json_object_set_new_nocheck(events, name, json_null());
    else
        json_object_set_new_nocheck(events, name,
                                    json_real(json_number_value(rate) + (before ? json_number_value(before) : 0)));
}

/* Whether anything happened in a row, or may have. */
static bool is_active(const json_t *events)
{
    const char *name;
    json_t *rate;

    json_object_foreach((json_t *)events, name, rate)
    {
        if (!json_is_number(rate) || json_number_value(rate) > 0)
            return true;
    }
    return false;
}

/* Keeps in *common what `object` has too; the first object is taken as it is. */
static void keep_common(json_t **common, const json_t *object)
{
    const char *name;
    json_t *value;
    void *next;

    if (!*common) {
        *common = json_copy((json_t *)object);
        return;
    }
    json_object_foreach_safe(*common, next, name, value)
    {
        if (!json_object_get(object, name))
            json_object_del(*common, name);
    }
}

void top_sum_add(struct top_sum *sum, const char *pmu, const json_t *row)
{
    json_t *events = json_object_get(row, "events"), *ratios = json_object_get(row, "ratios"), *rate;
    const char *name;

    sum->counted = MIN(sum->n ? sum->counted : 1, share_counted(ratios));
    if (is_active(events)) {
        keep_common(&sum->common_events, events);
        keep_common(&sum->common_ratios, ratios);
    }
    if (sum->n++ == 0) {
        sum->events = json_copy(events);
        sum->ratios = json_incref(ratios);
        sum->pmu = pmu;
        return;
    }
    if (sum->pmu && !str_equal(sum->pmu, pmu))
        sum->pmu = NULL;
    json_object_foreach(events, name, rate) add_event(sum->events, name, rate);
}

/* The names and the rates of the events of a sum, as derivation.h takes them. */
struct sum_events {
    const char **names;
    double *rates;
    size_t n;
};

static void sum_events_done(struct sum_events *events)
{
    free(events->names);
    free(events->rates);
}

static int sum_events_init(struct sum_events *events, json_t *document)
{
    size_t n = json_object_size(document);
    const char *name;
    json_t *rate;

    *events = (struct sum_events){calloc(n + 1, sizeof(*events->names)), calloc(n + 1, sizeof(*events->rates)), 0};
    if (!events->names || !events->rates)
        return -ENOMEM;
    json_object_foreach(document, name, rate)
    {
        events->names[events->n] = name;
        events->rates[events->n++] = json_is_number(rate) ? json_number_value(rate) : NAN;
    }
    return 0;
}

/* A metric without a value is absent, as it is in /api/v1/rates. */
static void add_metrics(struct top_sum *sum, const struct derivation *derivation, const double *rates)
{
    const struct derivation_times times = {.running = sum->counted, .enabled = 1};

    for (size_t i = 0; i < derivation_count(derivation); i++) {
        const char *name = derivation_metric(derivation, i)->name;
        double value = derivation_value(derivation, i, rates, &times);
        if (isfinite(value) && (!sum->common_ratios || json_object_get(sum->common_ratios, name)))
            json_object_set_new_nocheck(sum->ratios, name, json_real(value));
    }
}

void top_sum_finish(struct top_sum *sum, enum derived_target target)
{
    _cleanup_(sum_events_done) struct sum_events events = {0};

    if (sum->n < 2)
        return;
    json_decref(sum->ratios);
    sum->ratios = json_object();
    if (sum->common_events)
        keep_common(&sum->events, sum->common_events);
    if (sum_events_init(&events, sum->events) < 0)
        return;
    const struct derivation_events list = {
        .target = target, .pmu = sum->pmu ? sum->pmu : "", .events = events.names, .n = events.n};
    _cleanup_(derivation_freep) struct derivation *derivation = derivation_new(&list);
    if (derivation)
        add_metrics(sum, derivation, events.rates);
}
