/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/availability.h"

#include <ctype.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/glob.h"
#include "base/json.h"
#include "perf/event-parse.h"
#include "perf/generic-events.h"
#include "perf/presets.h"
#include "perf/reason.h"

/* A collector and a PMU whose rows are examined. All members are borrowed. */
struct counted_place {
    const char *collector;
    const char *pmu_name;
    const struct pmu *pmu;         /* NULL if the machine no longer has the PMU */
    const struct row *const *rows; /* one row for each set of equivalent rows (struct kinds) */
    size_t n_rows;
    const struct failures *failures;
    const char *const *collector_names; /* names of the collectors, indexed by bit number */
};

/* --- places --- */

/* Returns the row that counts a formula's event, or NULL if no row does. */
static const struct row *counted_place_find_row(const struct counted_place *place, const char *name)
{
    for (size_t i = 0; i < place->n_rows; i++)
        for (size_t k = 0; k < place->rows[i]->n_counters; k++)
            if (derived_names_event(name, place->rows[i]->counters[k].event))
                return place->rows[i];
    return NULL;
}

/* Returns why a configured event is not counted, or NULL if there is no failure. */
static const struct failure *counted_place_find_failure(const struct counted_place *place, const char *name)
{
    for (size_t i = 0; i < place->failures->n; i++) {
        const struct failure *failure = &place->failures->items[i];
        if (str_equal(place->collector_names[failure->collector], place->collector) &&
            derived_names_event(name, failure->metric) && (!*failure->pmu || str_equal(failure->pmu, place->pmu_name)))
            return failure;
    }
    return NULL;
}

/* Skips the characters that are neither letters nor digits. */
static bool skip_gap(const char **text)
{
    const char *start = *text;

    while (**text && !isalnum((unsigned char)**text))
        ++*text;
    return *text > start;
}

/*
 * Returns whether event_metric_name() turns `event` into `metric`. Unlike event_metric_name(), this function allocates
 * no memory.
 */
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

/*
 * Writes the event as a user would, as spelt by perf or sysfs. Returns false if neither perf nor sysfs knows the event.
 */
static bool spell_event(const struct pmu *pmu, const char *name, char *text, size_t size)
{
    const struct generic_event *generic = find_generic(name);
    uint64_t config;

    if (generic && (generic->type == PERF_TYPE_SOFTWARE || (pmu && pmu->scope != PMU_SYSTEM))) {
        snprintf(text, size, "%s", generic->name);
        return true;
    }
    for (size_t i = 0; pmu && i < pmu->n_events; i++)
        if (has_metric_name(pmu->events[i].name, name)) {
            snprintf(text, size, "%s/%s/", pmu->name, pmu->events[i].name);
            return true;
        }
    for (size_t i = 0; pmu && pmu->scope == PMU_CORE && generic_find_cache(i, text, size, &config); i++)
        if (has_metric_name(text, name))
            return true;
    return false;
}

bool availability_spell(const struct pmu *pmu, const char *name, char *text, size_t size)
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
            if (spell_event(pmu, base, text, size)) {
                size_t end = strlen(text);
                snprintf(text + end, size - end, "%s", modifiers[k].modifier);
                return true;
            }
        }
    snprintf(text, size, "%s", name);
    return false;
}

static bool why_absent_event_is_software(const char *name)
{
    const struct generic_event *generic = find_generic(name);

    return generic && generic->type == PERF_TYPE_SOFTWARE;
}

/* --- reasons --- */

static const char *const names[] = {
    [ABSENT_NONE] = "available",
    [ABSENT_DISABLED] = "disabled",
    [ABSENT_FAILED] = "failed",
    [ABSENT_NO_CGROUP] = "no_cgroup",
    [ABSENT_NO_PMU] = "no_pmu",
    [ABSENT_NO_EVENT] = "no_event",
    [ABSENT_UNAVAILABLE] = "unavailable",
    [ABSENT_NOT_COUNTED] = "not_counted",
    [ABSENT_APART] = "apart",
    [ABSENT_SPLIT] = "split",
    [ABSENT_UNEVEN] = "uneven",
    [ABSENT_STARVED] = "starved",
};

const char *why_absent_name(enum why_absent why_absent)
{
    return names[why_absent];
}

#define SLOTS "slots"

/* What is missing before an event of a formula can be counted, from the easiest to supply to the hardest. */
enum need { NEED_NOTHING, NEED_REPAIR, NEED_GROUP, NEED_EVENT, NEED_PMU, N_NEEDS };

struct fit {
    const struct derived_formula *of;
    struct formula formula;
    enum need needs[FORMULA_NAMES_MAX];
    enum need worst;
    size_t n_worst;
};

/* Returns whether a name in a formula stands for a time. Times are known for every group. */
static bool is_time(const char *name)
{
    return str_equal(name, "running_time") || str_equal(name, "enabled_time") || str_equal(name, "busy_time");
}

static enum need place_need(const struct counted_place *place, const char *name)
{
    char text[128];

    if (str_equal(name, SLOTS))
        return place->pmu && place->pmu->slots > 0 ? NEED_NOTHING : NEED_EVENT;
    if (is_time(name))
        return place->n_rows > 0 ? NEED_NOTHING : NEED_GROUP;
    if (counted_place_find_row(place, name))
        return NEED_NOTHING;
    if (!why_absent_event_is_software(name) && (!place->pmu || place->pmu->absent))
        return NEED_PMU;
    if (counted_place_find_failure(place, name))
        return NEED_REPAIR;
    return availability_spell(place->pmu, name, text, sizeof(text)) ? NEED_GROUP : NEED_EVENT;
}

static bool fit_find(const struct counted_place *place, const struct derived_formula *formula, struct fit *ret)
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

/*
 * Chooses the formula that comes closest to having a value on this PMU. Returns false if no formula applies to the PMU.
 */
static bool fit_choose(const struct counted_place *place, const struct derived_metric *metric, struct fit *ret)
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

/* Records the formula's events whose need is `need` as missing. */
static void take_missing(struct availability *availability, const struct fit *fit, enum need need)
{
    for (size_t i = 0; i < fit->formula.n_names; i++)
        if (fit->needs[i] == need)
            memcpy(availability->missing[availability->n_missing++], fit->formula.names[i], FORMULA_NAME_SIZE);
}

/* Appends the missing events as a user would spell them: "branch-misses and instructions". */
static void append_missing(struct buffer *message, const struct counted_place *place,
                           const struct availability *availability)
{
    char text[128];

    for (size_t i = 0; i < availability->n_missing; i++) {
        availability_spell(place->pmu, availability->missing[i], text, sizeof(text));
        buffer_appendf(message, "%s%s", i == 0 ? "" : i + 1 == availability->n_missing ? " and " : ", ", text);
    }
}

static void explain_events(const struct counted_place *place, struct availability *availability)
{
    struct buffer *message = &availability->message;

    if (str_equal(availability->missing[0], SLOTS)) {
        buffer_appendf(message, "the kernel does not say how many slots a CPU of %s has (caps/slots in sysfs)",
                       place->pmu_name);
        return;
    }
    buffer_appendf(message, "the PMU %s does not list ", place->pmu_name);
    append_missing(message, place, availability);
    buffer_append_text(message, ", which this metric needs");
}

static void explain_failure(const struct counted_place *place, struct availability *availability)
{
    const struct failure *failure = counted_place_find_failure(place, availability->missing[0]);

    buffer_appendf(&availability->message, "%s of the group \"%s\" is not counted: %s", failure->event, failure->group,
                   failure->message);
}

/* Returns the group that counts the most events of the formula, or NULL if no group counts any. */
static const struct row *find_nearest_group(const struct counted_place *place, const struct fit *fit)
{
    const struct row *nearest = NULL;
    size_t most = 0;

    for (size_t i = 0; i < place->n_rows; i++) {
        const struct counted_place alone = {.rows = &place->rows[i], .n_rows = 1};
        size_t n = 0;
        for (size_t k = 0; k < fit->formula.n_names; k++)
            n += counted_place_find_row(&alone, fit->formula.names[k]) != NULL;
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

/*
 * Returns a preset that contains all events of the formula on this PMU, or NULL if there is none. If memory runs out,
 * `message` is marked as failed.
 */
static const struct preset *find_preset(const struct counted_place *place, const struct formula *formula,
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
        while (n < formula->n_names && (is_time(formula->names[n]) || list_has(&list, formula->names[n])))
            n++;
        if (n == formula->n_names)
            return &presets[i];
    }
    return NULL;
}

static void explain_not_counted(const struct counted_place *place, struct availability *availability,
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

/*
 * Returns the length of the group's name in the configuration: "cache-2" is the second part of the split group "cache".
 */
static size_t configured_length(const char *group)
{
    size_t length = strlen(group), digits = length;

    while (digits > 0 && isdigit((unsigned char)group[digits - 1]))
        digits--;
    return digits > 0 && digits < length && group[digits - 1] == '-' ? digits - 1 : length;
}

static void explain_apart(const struct counted_place *place, struct availability *availability, const struct fit *fit)
{
    const struct row *first = NULL;
    struct buffer *message = &availability->message;

    availability->why_absent = ABSENT_SPLIT;
    for (size_t i = 0; i < fit->formula.n_names; i++) {
        const struct row *row = counted_place_find_row(place, fit->formula.names[i]);
        if (!row)
            continue;
        first = first ? first : row;
        size_t length = configured_length(first->group);
        if (configured_length(row->group) != length || memcmp(row->group, first->group, length) != 0)
            availability->why_absent = ABSENT_APART;
        buffer_appendf(message, "%s%s is in the group \"%s\"", message->size ? ", " : "", fit->formula.names[i],
                       row->group);
    }
    if (availability->why_absent == ABSENT_APART)
        buffer_append_text(message, ", and only events of one group are counted at the same time: put them into one");
    else
        buffer_appendf(message, ", a part that did not fit the counters of %s: put these events into a smaller group",
                       place->pmu_name);
}

static void explain_no_pmu(const struct counted_place *place, struct availability *availability)
{
    if (place->pmu && place->pmu->absent)
        buffer_append_text(&availability->message, REASON_NO_PMU ": " REASON_NO_PMU_REMEDY);
    else
        buffer_appendf(&availability->message, "it is not defined for the PMU %s", place->pmu_name);
}

/*
 * Returns a group that has the metric's events, but gives it no value because the group is starved or because its
 * events are not counted on the same CPUs. Returns NULL if there is none.
 */
static const struct row *find_useless(const struct counted_place *place, const struct derived_metric *metric)
{
    for (size_t i = 0; i < place->n_rows; i++)
        for (size_t k = 0; k < metric_set_count(place->rows[i]->metric_set); k++)
            if (metric_set_metric(place->rows[i]->metric_set, k) == metric)
                return place->rows[i];
    return NULL;
}

static void explain_useless(const struct row *row, struct availability *availability)
{
    struct buffer *message = &availability->message;

    availability->why_absent = row->state == ROW_STARVED ? ABSENT_STARVED : ABSENT_UNEVEN;
    if (row->state == ROW_STARVED)
        buffer_appendf(message,
                       "the group \"%s\" is starved%s%s: count fewer events, or stop whatever else uses the counters",
                       row->group, row->cause ? ", " : "", row->cause ? row->cause : "");
    else
        buffer_appendf(message,
                       "the group \"%s\" does not count all of its events on each CPU: \"perfcountd plan\" "
                       "shows where an event is not counted, and why",
                       row->group);
}

/*
 * Fills in the members `formula`, `absence`, `missing` and `message` for a metric that no row of this collector and PMU
 * has.
 */
static void why_absent_explain(const struct counted_place *place, struct availability *availability)
{
    static const enum why_absent reasons[N_NEEDS] = {ABSENT_APART, ABSENT_UNAVAILABLE, ABSENT_NOT_COUNTED,
                                                     ABSENT_NO_EVENT, ABSENT_NO_PMU};
    const struct row *useless = find_useless(place, availability->metric);
    struct fit fit = {.worst = NEED_PMU};

    if (useless) {
        explain_useless(useless, availability);
        return;
    }
    bool found = fit_choose(place, availability->metric, &fit);
    availability->formula = found ? fit.of : NULL;
    availability->why_absent = reasons[fit.worst];
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

/* --- survey --- */

/*
 * One row for each set of rows with the same collector, group, PMU and metric set, preferably a row that is neither
 * starved nor uneven.
 */
struct kinds {
    const struct row **rows;
    size_t n;
};

struct survey {
    struct registry *registry;
    const struct machine *machine;
    const struct snapshot *snapshot;
    struct kinds kinds;
    availability_visit visit;
    void *userdata;
};

/* The collectors that have derived metrics. */
static const struct {
    enum derived_target target;
    const struct collector *collector;
} countable[] = {{DERIVED_CPU, &collector_cpu}, {DERIVED_PMU, &collector_pmu}, {DERIVED_CGROUP, &collector_cgroup}};

static int kinds_add(struct kinds *kinds, const struct row *row)
{
    for (size_t i = 0; i < kinds->n; i++) {
        const struct row *other = kinds->rows[i];
        if (other->collector == row->collector && other->metric_set == row->metric_set &&
            str_equal(other->group, row->group) && str_equal(other->pmu, row->pmu)) {
            if (other->state == ROW_STARVED || (other->uneven && row->state != ROW_STARVED))
                kinds->rows[i] = row;
            return 0;
        }
    }
    if (array_grow(&kinds->rows, kinds->n) < 0)
        return -ENOMEM;
    kinds->rows[kinds->n++] = row;
    return 0;
}

static int kinds_find(struct kinds *kinds, const struct snapshot *snapshot)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < snapshot->n_rows; i++) {
        const struct row *row = snapshot->rows[i];
        if (row->metric_set && !row->absent && !row->removed && !snapshot_row_failed(snapshot, row))
            r = kinds_add(kinds, row);
    }
    return r;
}

static void take_group(struct availability *availability, const struct row *row)
{
    const struct metric_set *metric_set = row->metric_set;

    for (size_t i = 0; i < metric_set_count(metric_set); i++) {
        if (metric_set_metric(metric_set, i) != availability->metric || row->state == ROW_STARVED ||
            (row->uneven && metric_set_compares_events(metric_set, i)))
            continue;
        if (availability->n_groups == 0)
            availability->formula = metric_set_formula(metric_set, i);
        if (availability->n_groups < AVAILABILITY_GROUPS_MAX)
            availability->groups[availability->n_groups++] = row->group;
    }
}

static int visit_metric(const struct survey *survey, const struct counted_place *place,
                        const struct derived_metric *metric)
{
    struct availability availability = {.metric = metric, .collector = place->collector, .pmu = place->pmu_name};

    for (size_t i = 0; i < place->n_rows; i++)
        take_group(&availability, place->rows[i]);
    if (availability.n_groups == 0)
        why_absent_explain(place, &availability);
    bool failed = availability.message.failed;
    if (!failed)
        survey->visit(survey->userdata, &availability);
    buffer_done(&availability.message);
    return failed ? -ENOMEM : 0;
}

/* Returns the error of a failing collector, or "" if the collector does not fail. */
static const char *collector_error(const struct survey *survey, const char *collector)
{
    struct collector_status status;

    for (size_t i = 0; registry_status(survey->registry, i, &status); i++)
        if (str_equal(status.name, collector))
            return status.error;
    return "";
}

/* Returns whether the formula is the metric's first formula for its PMUs. */
static bool is_first_of_pmu(const struct derived_metric *metric, size_t formula)
{
    for (size_t i = 0; i < formula; i++)
        if (str_equal(metric->formulas[i].pmu ? metric->formulas[i].pmu : "",
                      metric->formulas[formula].pmu ? metric->formulas[formula].pmu : ""))
            return false;
    return true;
}

/* Visits a metric that the whole collector lacks, on any PMU. */
static int visit_nowhere(const struct survey *survey, const char *collector, const struct derived_metric *metric,
                         enum why_absent why_absent)
{
    struct availability availability = {.metric = metric, .collector = collector, .pmu = "", .why_absent = why_absent};
    struct buffer *message = &availability.message;

    if (why_absent == ABSENT_DISABLED)
        buffer_appendf(message, "the collector is disabled: set collectors.%s.enabled to true", collector);
    else if (why_absent == ABSENT_FAILED)
        buffer_appendf(message, "the collector fails: %s", collector_error(survey, collector));
    else if (why_absent == ABSENT_NO_CGROUP)
        buffer_append_text(message, "no cgroup is counted: /api/v1/cgroups shows which match, and why");
    else if (why_absent == ABSENT_NOT_COUNTED)
        buffer_appendf(message, "nothing is counted: add a group to collectors.%s.groups", collector);
    else
        buffer_append_text(message, "this machine has no PMU that counts it: ");
    for (size_t i = 0; why_absent == ABSENT_NO_PMU && metric->formulas[i].text; i++)
        if (is_first_of_pmu(metric, i))
            buffer_appendf(message, "%s%s", i ? ", " : "", metric->formulas[i].pmu ? metric->formulas[i].pmu : "any");
    bool failed = message->failed;
    if (!failed)
        survey->visit(survey->userdata, &availability);
    buffer_done(message);
    return failed ? -ENOMEM : 0;
}

/*
 * Returns whether the row belongs to the PMU. Rows of software events, which have no core PMU, belong to every core
 * PMU.
 */
static bool is_of_place(const struct survey *survey, const struct row *row, const struct pmu *pmu)
{
    const struct pmu *own = machine_find_pmu(survey->machine, row->pmu);

    return str_equal(row->pmu, pmu->name) || (pmu->scope == PMU_CORE && (!own || own->scope == PMU_ANY));
}

/*
 * Returns whether the metric has a formula for the PMU. A formula without a PMU pattern applies to all PMUs that are
 * counted.
 */
static bool is_defined_for(const struct derived_metric *metric, const struct counted_place *place)
{
    for (size_t i = 0; metric->formulas[i].text; i++) {
        const char *pattern = metric->formulas[i].pmu;
        if (pattern ? glob_match(pattern, place->pmu_name) : place->n_rows > 0)
            return true;
    }
    return false;
}

/* Visits the metric on the PMU, if the collector can use this PMU. `rows` must have room for all kinds of rows. */
static int visit_pmu(const struct survey *survey, size_t bit, enum derived_target target,
                     const struct derived_metric *metric, const struct pmu *pmu, const struct row **rows,
                     bool *ret_visited)
{
    struct counted_place place = {
        .collector = countable[bit].collector->name,
        .pmu_name = pmu->name,
        .pmu = pmu,
        .rows = rows,
        .failures = registry_failures(survey->registry),
        .collector_names = survey->snapshot->collector_names,
    };

    if (pmu->scope != (target == DERIVED_PMU ? PMU_SYSTEM : PMU_CORE))
        return 0;
    for (size_t i = 0; i < survey->kinds.n; i++) {
        const struct row *row = survey->kinds.rows[i];
        if (str_equal(row->collector_name, place.collector) && is_of_place(survey, row, pmu))
            rows[place.n_rows++] = row;
    }
    if (target == DERIVED_PMU && !is_defined_for(metric, &place))
        return 0;
    *ret_visited = true;
    return visit_metric(survey, &place, metric);
}

/*
 * Returns whether the whole collector failed. Events that could not be opened are not a failure of the collector: each
 * event has its own reason.
 */
static bool is_failed(const struct survey *survey, const struct collector *collector)
{
    const struct snapshot *snapshot = survey->snapshot;

    if (!registry_has_failed(survey->registry, collector) || !registry_state(survey->registry, collector))
        return registry_has_failed(survey->registry, collector);
    for (size_t i = 0; i < snapshot->n_rows; i++)
        if (str_equal(snapshot->rows[i]->collector_name, collector->name) &&
            snapshot_row_failed(snapshot, snapshot->rows[i]))
            return true;
    return false;
}

/* Returns why the whole collector has no derived metrics, or ABSENT_NONE if the collector can have some. */
static enum why_absent collector_why_absent(const struct survey *survey, size_t which)
{
    const char *collector = countable[which].collector->name;
    struct collector_status status;

    for (size_t i = 0; registry_status(survey->registry, i, &status); i++)
        if (str_equal(status.name, collector) && !status.enabled)
            return ABSENT_DISABLED;
    if (is_failed(survey, countable[which].collector))
        return ABSENT_FAILED;
    for (size_t i = 0; i < survey->kinds.n; i++)
        if (str_equal(survey->kinds.rows[i]->collector_name, collector))
            return ABSENT_NONE;
    return str_equal(collector, collector_cgroup.name) ? ABSENT_NO_CGROUP : ABSENT_NONE;
}

static int visit_collector(const struct survey *survey, size_t i, const struct derived_metric *metric)
{
    const char *collector = countable[i].collector->name;
    enum why_absent why_absent = collector_why_absent(survey, i);
    bool visited = false;
    int r = 0;

    if (why_absent != ABSENT_NONE)
        return visit_nowhere(survey, collector, metric, why_absent);
    _cleanup_(freep) const struct row **rows = calloc(survey->kinds.n + 1, sizeof(const struct row *));
    if (!rows)
        return -ENOMEM;
    for (size_t k = 0; r == 0 && k < survey->machine->n_pmus; k++)
        r = visit_pmu(survey, i, countable[i].target, metric, survey->machine->pmus[k], rows, &visited);
    if (r < 0 || visited)
        return r;
    return visit_nowhere(survey, collector, metric, metric->formulas[0].pmu ? ABSENT_NO_PMU : ABSENT_NOT_COUNTED);
}

int availability_each(struct registry *registry, const struct machine *machine, availability_visit visit,
                      void *userdata)
{
    const struct snapshot *snapshot = registry_snapshot(registry);
    struct survey survey = {
        .registry = registry, .machine = machine, .snapshot = snapshot, .visit = visit, .userdata = userdata};
    const struct derived_metric *metric;
    int r = kinds_find(&survey.kinds, snapshot);

    for (size_t i = 0; r == 0 && (metric = derived_at(i)); i++)
        for (size_t k = 0; r == 0 && k < ARRAY_SIZE(countable); k++)
            if (metric->targets & countable[k].target)
                r = visit_collector(&survey, k, metric);
    free(survey.kinds.rows);
    return r;
}

/* --- JSON --- */

static json_t *collectors_of(const struct derived_metric *metric)
{
    json_t *collectors = json_array();

    for (size_t i = 0; i < ARRAY_SIZE(countable); i++)
        if (metric->targets & countable[i].target)
            collectors = json_array_add(collectors, json_string(countable[i].collector->name));
    return collectors;
}

/*
 * Adds the alternative spellings of an event to `spellings`. Takes and returns the JSON object in the same way as
 * json_object_add().
 */
static json_t *add_spellings(json_t *spellings, const char *name)
{
    json_t *texts = json_array();
    const char *spelling;

    for (size_t k = 1; (spelling = derived_spelling(name, k)); k++)
        texts = json_array_add(texts, json_string(spelling));
    if (texts && json_array_size(texts) == 0) {
        json_decref(texts);
        return spellings;
    }
    return json_object_add(spellings, name, texts);
}

static json_t *formula_json(const struct derived_formula *formula, json_t **spellings)
{
    json_t *events = json_array();
    struct formula parsed = {.n_names = 0};

    formula_parse(formula->text, &parsed, NULL);
    for (size_t i = 0; i < parsed.n_names; i++) {
        events = json_array_add(events, json_string(parsed.names[i]));
        *spellings = add_spellings(*spellings, parsed.names[i]);
    }
    return json_pack("{s:s, s:s?, s:o, s:s, s:b}", "formula", formula->text, "pmu", formula->pmu, "events", events,
                     "source", formula->source, "seen", formula->seen);
}

static json_t *metric_json(const struct derived_metric *metric, json_t **spellings)
{
    json_t *formulas = json_array();

    for (size_t i = 0; metric->formulas[i].text; i++)
        formulas = json_array_add(formulas, formula_json(&metric->formulas[i], spellings));
    return json_pack("{s:s, s:s, s:s, s:o, s:o}", "name", metric->name, "unit", metric->unit, "help", metric->help,
                     "collectors", collectors_of(metric), "formulas", formulas);
}

json_t *derived_json(void)
{
    json_t *metrics = json_array(), *spellings = json_object();
    const struct derived_metric *metric;

    for (size_t i = 0; (metric = derived_at(i)); i++)
        metrics = json_array_add(metrics, metric_json(metric, &spellings));
    return json_pack("{s:o, s:o}", "metrics", metrics, "spellings", spellings);
}

static json_t *texts_json(const char *const *texts, size_t n)
{
    json_t *array = json_array();

    for (size_t i = 0; i < n; i++)
        array = json_array_add(array, json_text(texts[i]));
    return array;
}

static json_t *missing_json(const struct availability *availability)
{
    json_t *array = json_array();

    for (size_t i = 0; i < availability->n_missing; i++)
        array = json_array_add(array, json_string(availability->missing[i]));
    return array;
}

static json_t *message_json(const struct availability *availability)
{
    const struct buffer *message = &availability->message;

    if (message->failed)
        return NULL;
    return message->size ? json_stringn(message->data, message->size) : json_string("");
}

/* Returns the array `key` of the JSON object, and creates it if necessary. */
static json_t *member_array(json_t *object, const char *key)
{
    if (!json_object_get(object, key))
        json_object_set_new(object, key, json_array());
    return json_object_get(object, key);
}

/* A JSON document being built. Once memory runs out for a part, the whole document fails. */
struct availability_survey {
    json_t *document;
    bool failed;
};

static json_t *metric_of(const json_t *document, const char *name)
{
    json_t *metric = NULL;
    size_t i;

    json_array_foreach (json_object_get(document, "metrics"), i, metric)
        if (str_equal(json_string_value(json_object_get(metric, "name")), name))
            break;
    return metric;
}

static json_t *available_json(const struct availability *availability)
{
    return json_pack("{s:s, s:s, s:o, s:s}", "collector", availability->collector, "pmu", availability->pmu, "groups",
                     texts_json(availability->groups, availability->n_groups), "formula", availability->formula->text);
}

static json_t *absent_json(const struct availability *availability)
{
    return json_pack("{s:s, s:s, s:s, s:o, s:o}", "collector", availability->collector, "pmu", availability->pmu,
                     "reason", why_absent_name(availability->why_absent), "events", missing_json(availability),
                     "message", message_json(availability));
}

static void add_availability(void *userdata, const struct availability *availability)
{
    struct availability_survey *availability_survey = userdata;
    json_t *metric = metric_of(availability_survey->document, availability->metric->name);
    json_t *available = member_array(metric, "available"), *absent = member_array(metric, "absent");

    if (availability->why_absent == ABSENT_NONE)
        availability_survey->failed |= json_array_append_new(available, available_json(availability)) < 0 || !absent;
    else
        availability_survey->failed |= json_array_append_new(absent, absent_json(availability)) < 0 || !available;
}

/* Takes ownership of the document. Adds the availability of each metric to the document. Returns NULL on failure. */
static json_t *survey_all(json_t *document, struct registry *registry, const struct machine *machine,
                          availability_visit add)
{
    struct availability_survey availability_survey = {.document = document};

    if (document &&
        (availability_each(registry, machine, add, &availability_survey) < 0 || availability_survey.failed)) {
        json_decref(document);
        return NULL;
    }
    return document;
}

json_t *availability_json(struct registry *registry, const struct machine *machine)
{
    return survey_all(derived_json(), registry, machine, add_availability);
}

static bool has_text(const json_t *object, const char *key, const char *text)
{
    return str_equal(json_string_value(json_object_get(object, key)), text);
}

/* Returns the entry for this collector, PMU and reason, and creates it if necessary. */
static json_t *summary_entry(json_t *list, const struct availability *availability)
{
    const char *reason = why_absent_name(availability->why_absent);
    json_t *entry;
    size_t i;

    json_array_foreach (list, i, entry)
        if (has_text(entry, "collector", availability->collector) && has_text(entry, "pmu", availability->pmu) &&
            has_text(entry, "reason", reason))
            return entry;
    entry = json_pack("{s:s, s:s, s:s, s:[]}", "collector", availability->collector, "pmu", availability->pmu, "reason",
                      reason, "metrics");
    return json_array_append_new(list, entry) == 0 ? entry : NULL;
}

static void add_to_summary(void *userdata, const struct availability *availability)
{
    const char *list = availability->why_absent == ABSENT_NONE ? "available" : "absent";
    struct availability_survey *availability_survey = userdata;
    json_t *entry = summary_entry(json_object_get(availability_survey->document, list), availability);
    json_t *metric = json_pack("{s:s, s:o, s:o}", "name", availability->metric->name, "events",
                               missing_json(availability), "message", message_json(availability));

    availability_survey->failed |= json_array_append_new(json_object_get(entry, "metrics"), metric) < 0;
}

json_t *availability_json_summarize(struct registry *registry, const struct machine *machine)
{
    return survey_all(json_pack("{s:[], s:[]}", "available", "absent"), registry, machine, add_to_summary);
}
