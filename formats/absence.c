/* SPDX-License-Identifier: Apache-2.0 */
/* Why a derived metric has no value at a counting place: see absence.h. */
#include "formats/absence.h"

#include <ctype.h>

#include "base/cleanup.h"
#include "base/glob.h"
#include "perf/event-parse.h"
#include "perf/presets.h"
#include "perf/reason.h"

static const char *const names[] = {
    [ABSENCE_NONE] = "available",
    [ABSENCE_DISABLED] = "disabled",
    [ABSENCE_FAILED] = "failed",
    [ABSENCE_NO_CGROUP] = "no_cgroup",
    [ABSENCE_NO_PMU] = "no_pmu",
    [ABSENCE_NO_EVENT] = "no_event",
    [ABSENCE_UNAVAILABLE] = "unavailable",
    [ABSENCE_NOT_COUNTED] = "not_counted",
    [ABSENCE_APART] = "apart",
    [ABSENCE_SPLIT] = "split",
    [ABSENCE_UNEVEN] = "uneven",
    [ABSENCE_STARVED] = "starved",
};

const char *absence_name(enum absence absence)
{
    return names[absence];
}

#define SLOTS "slots"

/* --- how near a formula is to a value --- */

/* The events of a formula by what they need to be counted; a later list is worse. */
enum need { NEED_NOTHING, NEED_REPAIR, NEED_GROUP, NEED_EVENT, NEED_PMU, N_NEEDS };

struct fit {
    const struct derived_formula *of;
    struct formula formula;
    enum need needs[FORMULA_NAMES_MAX];
    enum need worst;
    size_t n_worst;
};

static enum need place_need(const struct absence_place *place, const char *name)
{
    char text[128];

    if (str_equal(name, SLOTS))
        return place->pmu && place->pmu->slots > 0 ? NEED_NOTHING : NEED_EVENT;
    if (str_equal(name, "running_time") || str_equal(name, "enabled_time"))
        return place->n_rows > 0 ? NEED_NOTHING : NEED_GROUP;
    if (absence_place_find_row(place, name))
        return NEED_NOTHING;
    if (!absence_event_is_software(name) && (!place->pmu || place->pmu->absent))
        return NEED_PMU;
    if (absence_place_find_failure(place, name))
        return NEED_REPAIR;
    return absence_place_spell(place, name, text, sizeof(text)) ? NEED_GROUP : NEED_EVENT;
}

static bool fit_find(const struct absence_place *place, const struct derived_formula *formula, struct fit *ret)
{
    *ret = (struct fit){.of = formula};
    if (formula_parse(formula->text, &ret->formula, NULL) < 0)
        return false;
    for (size_t i = 0; i < ret->formula.n_names; i++) {
        ret->needs[i] = place_need(place, ret->formula.names[i]);
        if (ret->needs[i] > ret->worst)
            ret->n_worst = 0;
        ret->worst = MAX(ret->worst, ret->needs[i]);
        ret->n_worst += ret->needs[i] == ret->worst;
    }
    return true;
}

/* The nearest formula for this PMU; false where there is none. */
static bool fit_choose(const struct absence_place *place, const struct derived_metric *metric, struct fit *ret)
{
    struct fit fit;
    bool found = false;

    for (size_t i = 0; metric->formulas[i].text; i++) {
        const char *pattern = metric->formulas[i].pmu;
        if ((pattern && !glob_match(pattern, place->pmu_name)) || !fit_find(place, &metric->formulas[i], &fit))
            continue;
        if (!found || fit.worst < ret->worst || (fit.worst == ret->worst && fit.n_worst < ret->n_worst))
            *ret = fit;
        found = true;
    }
    return found;
}

/* --- sentences --- */

/* Adds the events of that need to those that are missing. */
static void take_missing(struct availability *availability, const struct fit *fit, enum need need)
{
    for (size_t i = 0; i < fit->formula.n_names; i++)
        if (fit->needs[i] == need)
            memcpy(availability->missing[availability->n_missing++], fit->formula.names[i], FORMULA_NAME_SIZE);
}

/* "branch-misses and instructions", as a user writes them. */
static void append_missing(struct buffer *message, const struct absence_place *place,
                           const struct availability *availability)
{
    char text[128];

    for (size_t i = 0; i < availability->n_missing; i++) {
        absence_place_spell(place, availability->missing[i], text, sizeof(text));
        buffer_appendf(message, "%s%s", i == 0 ? "" : i + 1 == availability->n_missing ? " and " : ", ", text);
    }
}

static void explain_events(const struct absence_place *place, struct availability *availability)
{
    struct buffer *message = &availability->message;

    if (str_equal(availability->missing[0], SLOTS)) {
        buffer_appendf(message, "the kernel does not say how many slots a CPU of %s has (caps/slots in sysfs)",
                       place->pmu_name);
        return;
    }
    buffer_appendf(message, "the PMU %s does not list ", place->pmu_name);
    append_missing(message, place, availability);
    buffer_append_text(message, ": it cannot have this metric");
}

static void explain_failure(const struct absence_place *place, struct availability *availability)
{
    const struct failure *failure = absence_place_find_failure(place, availability->missing[0]);

    buffer_appendf(&availability->message, "%s of the group \"%s\" is not counted: %s", failure->event, failure->group,
                   failure->message);
}

/* The group that has the most of the events. */
static const struct row *find_nearest_group(const struct absence_place *place, const struct fit *fit)
{
    const struct row *nearest = NULL;
    size_t most = 0;

    for (size_t i = 0; i < place->n_rows; i++) {
        const struct absence_place alone = {.rows = &place->rows[i], .n_rows = 1};
        size_t n = 0;
        for (size_t k = 0; k < fit->formula.n_names; k++)
            n += absence_place_find_row(&alone, fit->formula.names[k]) != NULL;
        if (n > most) {
            most = n;
            nearest = place->rows[i];
        }
    }
    return nearest;
}

static bool list_has(const struct event_list *list, const char *name)
{
    for (size_t i = 0; i < list->n; i++)
        if (derived_names_event(name, list->events[i].metric))
            return true;
    return false;
}

/* The preset that has all events of the formula on this PMU; NULL where there is none. Without memory `message` fails.
 */
static const struct preset *find_preset(const struct absence_place *place, const struct formula *formula,
                                        struct buffer *message)
{
    for (size_t i = 0; place->pmu && i < n_presets; i++) {
        _cleanup_(event_list_done) struct event_list list = {0};
        const char *events = presets[i].variants[preset_choose(&presets[i], place->pmu)].events;
        if (presets[i].of_system != (place->pmu->scope == PMU_SYSTEM) || !events)
            continue;
        int r = event_list_parse(events, &list, NULL);
        message->failed |= r == -ENOMEM;
        if (r < 0)
            continue;
        size_t n = 0;
        while (n < formula->n_names && list_has(&list, formula->names[n]))
            n++;
        if (n == formula->n_names)
            return &presets[i];
    }
    return NULL;
}

static void explain_not_counted(const struct absence_place *place, struct availability *availability,
                                const struct fit *fit)
{
    const struct row *group = find_nearest_group(place, fit);
    struct buffer *message = &availability->message;
    const struct preset *preset = find_preset(place, &fit->formula, message);

    buffer_append_text(message, "no group counts ");
    append_missing(message, place, availability);
    if (group)
        buffer_appendf(message, ": add %s to the group \"%s\"", availability->n_missing > 1 ? "them" : "it",
                       group->group);
    else
        buffer_appendf(message, "%s: add a group with %s to collectors.%s.groups",
                       availability->n_missing > 1 ? " together" : "", availability->n_missing > 1 ? "them" : "it",
                       place->collector);
    if (preset)
        buffer_appendf(message, ", or a group with \"preset: %s\"", preset->name);
}

/* How long the name of the configured group is: "cache-2" is a part of "cache". */
static size_t configured_length(const char *group)
{
    size_t length = strlen(group), digits = length;

    while (digits > 0 && isdigit((unsigned char)group[digits - 1]))
        digits--;
    return digits > 0 && digits < length && group[digits - 1] == '-' ? digits - 1 : length;
}

static void explain_apart(const struct absence_place *place, struct availability *availability, const struct fit *fit)
{
    const struct row *first = NULL;
    struct buffer *message = &availability->message;

    availability->absence = ABSENCE_SPLIT;
    for (size_t i = 0; i < fit->formula.n_names; i++) {
        const struct row *row = absence_place_find_row(place, fit->formula.names[i]);
        if (!row)
            continue;
        first = first ? first : row;
        size_t length = configured_length(first->group);
        if (configured_length(row->group) != length || memcmp(row->group, first->group, length) != 0)
            availability->absence = ABSENCE_APART;
        buffer_appendf(message, "%s%s is in the group \"%s\"", message->size ? ", " : "", fit->formula.names[i],
                       row->group);
    }
    if (availability->absence == ABSENCE_APART)
        buffer_append_text(message, ", and events are counted at the same time only in one group: put them into one");
    else
        buffer_appendf(message, ", a part that did not fit the counters of %s: put these events into a smaller group",
                       place->pmu_name);
}

static void explain_no_pmu(const struct absence_place *place, struct availability *availability)
{
    if (place->pmu && place->pmu->absent)
        buffer_append_text(&availability->message, REASON_NO_PMU ": " REASON_NO_PMU_REMEDY);
    else
        buffer_appendf(&availability->message, "it is not defined for the PMU %s", place->pmu_name);
}

/* The group that has the metric and is of no use; NULL where there is none. */
static const struct row *find_useless(const struct absence_place *place, const struct derived_metric *metric)
{
    for (size_t i = 0; i < place->n_rows; i++)
        for (size_t k = 0; k < derivation_count(place->rows[i]->derivation); k++)
            if (derivation_metric(place->rows[i]->derivation, k) == metric)
                return place->rows[i];
    return NULL;
}

static void explain_useless(const struct row *row, struct availability *availability)
{
    struct buffer *message = &availability->message;

    availability->absence = row->state == ROW_STARVED ? ABSENCE_STARVED : ABSENCE_UNEVEN;
    if (row->state == ROW_STARVED)
        buffer_appendf(message,
                       "the group \"%s\" is starved%s%s: count fewer events, or end what else uses the counters",
                       row->group, row->cause ? ", " : "", row->cause ? row->cause : "");
    else
        buffer_appendf(message,
                       "the group \"%s\" does not count all of its events on each CPU: \"perfcountd plan\" "
                       "shows where an event is not counted, and why",
                       row->group);
}

void absence_explain(const struct absence_place *place, struct availability *availability)
{
    static const enum absence reasons[N_NEEDS] = {ABSENCE_APART, ABSENCE_UNAVAILABLE, ABSENCE_NOT_COUNTED,
                                                  ABSENCE_NO_EVENT, ABSENCE_NO_PMU};
    const struct row *useless = find_useless(place, availability->metric);
    struct fit fit = {.worst = NEED_PMU};

    if (useless) {
        explain_useless(useless, availability);
        return;
    }
    bool found = fit_choose(place, availability->metric, &fit);
    availability->formula = found ? fit.of : NULL;
    availability->absence = reasons[fit.worst];
    if (fit.worst < NEED_PMU)
        take_missing(availability, &fit, fit.worst);
    if (fit.worst == NEED_PMU)
        explain_no_pmu(place, availability);
    else if (fit.worst == NEED_EVENT)
        explain_events(place, availability);
    else if (fit.worst == NEED_REPAIR)
        explain_failure(place, availability);
    else if (fit.worst == NEED_GROUP)
        explain_not_counted(place, availability, &fit);
    else
        explain_apart(place, availability, &fit);
}
