/* SPDX-License-Identifier: Apache-2.0 */
/* A counting place, and the events that it counts, or could: see absence-place.h. */
#include "formats/absence-place.h"

#include <ctype.h>
#include <stdio.h>

#include "perf/generic-events.h"

const struct row *absence_place_find_row(const struct absence_place *place, const char *name)
{
    for (size_t i = 0; i < place->n_rows; i++)
        for (size_t k = 0; k < place->rows[i]->n_counters; k++)
            if (derived_names_event(name, place->rows[i]->counters[k].event))
                return place->rows[i];
    return NULL;
}

const struct failure *absence_place_find_failure(const struct absence_place *place, const char *name)
{
    for (size_t i = 0; i < place->failures->n; i++) {
        const struct failure *failure = &place->failures->items[i];
        if (str_equal(place->collector_names[failure->collector], place->collector) &&
            derived_names_event(name, failure->metric) && (!*failure->pmu || str_equal(failure->pmu, place->pmu_name)))
            return failure;
    }
    return NULL;
}

/* Goes past what is no letter and no digit. */
static bool skip_gap(const char **text)
{
    const char *start = *text;

    while (**text && !isalnum((unsigned char)**text))
        ++*text;
    return *text > start;
}

/* Whether an event of this name has that metric name, as event_metric_name() makes it: without an allocation. */
static bool has_metric_name(const char *event, const char *metric)
{
    bool gap = skip_gap(&event), other = gap;

    while (*event && *metric && gap == other && tolower((unsigned char)*event) == *metric) {
        event++;
        metric++;
        gap = skip_gap(&event);
        other = skip_gap(&metric);
    }
    return !*event && !*metric;
}

static const struct generic_event *find_generic(const char *name)
{
    for (size_t i = 0; i < n_generic_events; i++)
        if (str_equal(generic_events[i].metric, name))
            return &generic_events[i];
    return NULL;
}

/* The event as a user writes it, the way the kernel or sysfs spells it; false where neither has it. */
static bool place_spell_event(const struct absence_place *place, const char *name, char *text, size_t size)
{
    const struct generic_event *generic = find_generic(name);
    uint64_t config;

    if (generic && (generic->type == PERF_TYPE_SOFTWARE || (place->pmu && place->pmu->scope != PMU_SYSTEM))) {
        snprintf(text, size, "%s", generic->name);
        return true;
    }
    for (size_t i = 0; place->pmu && i < place->pmu->n_events; i++)
        if (has_metric_name(place->pmu->events[i].name, name)) {
            snprintf(text, size, "%s/%s/", place->pmu->name, place->pmu->events[i].name);
            return true;
        }
    for (size_t i = 0; place->pmu && place->pmu->scope == PMU_CORE && generic_find_cache(i, text, size, &config); i++)
        if (has_metric_name(text, name))
            return true;
    return false;
}

/* The same for any name of a formula: with modifiers, and by each of its names. */
bool absence_place_spell(const struct absence_place *place, const char *name, char *text, size_t size)
{
    static const struct {
        const char *word, *modifier;
    } modifiers[] = {{"_user", ":u"}, {"_kernel", ":k"}, {"", ""}};
    char base[FORMULA_NAME_SIZE];
    const char *spelling;

    for (size_t i = 0; (spelling = derived_spelling(name, i)); i++)
        for (size_t k = 0; k < ARRAY_SIZE(modifiers); k++) {
            size_t length = strlen(spelling), cut = strlen(modifiers[k].word);
            if (length <= cut || !str_equal(spelling + length - cut, modifiers[k].word))
                continue;
            snprintf(base, sizeof(base), "%.*s", (int)(length - cut), spelling);
            if (place_spell_event(place, base, text, size)) {
                size_t end = strlen(text);
                snprintf(text + end, size - end, "%s", modifiers[k].modifier);
                return true;
            }
        }
    snprintf(text, size, "%s", name);
    return false;
}

bool absence_event_is_software(const char *name)
{
    const struct generic_event *generic = find_generic(name);

    return generic && generic->type == PERF_TYPE_SOFTWARE;
}
