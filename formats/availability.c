/* SPDX-License-Identifier: Apache-2.0 */
/* The derived metrics that the rows of the snapshot have now, and why not the others: see availability.h. */
#include "formats/availability.h"

#include "base/cleanup.h"
#include "base/glob.h"

/* One row for all that count the same, the best of them: one that is counted, if there is one. */
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

/* Of each collector with derived metrics. */
static const struct {
    enum derived_target target;
    const struct collector *collector;
} countable[] = {{DERIVED_CPU, &collector_cpu}, {DERIVED_PMU, &collector_pmu}, {DERIVED_CGROUP, &collector_cgroup}};

/* --- kinds of rows --- */

static int kinds_add(struct kinds *kinds, const struct row *row)
{
    for (size_t i = 0; i < kinds->n; i++) {
        const struct row *other = kinds->rows[i];
        if (other->collector == row->collector && other->derivation == row->derivation &&
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
        if (row->derivation && !row->absent && !row->removed && !snapshot_row_failed(snapshot, row))
            r = kinds_add(kinds, row);
    }
    return r;
}

/* --- one metric at one place --- */

static void take_group(struct availability *availability, const struct row *row)
{
    const struct derivation *derivation = row->derivation;

    for (size_t i = 0; i < derivation_count(derivation); i++) {
        if (derivation_metric(derivation, i) != availability->metric || row->state == ROW_STARVED ||
            (row->uneven && derivation_compares_events(derivation, i)))
            continue;
        if (availability->n_groups == 0)
            availability->formula = derivation_formula(derivation, i);
        if (availability->n_groups < AVAILABILITY_GROUPS_MAX)
            availability->groups[availability->n_groups++] = row->group;
    }
}

static int visit_metric(const struct survey *survey, const struct absence_place *place,
                        const struct derived_metric *metric)
{
    struct availability availability = {.metric = metric, .collector = place->collector, .pmu = place->pmu_name};

    for (size_t i = 0; i < place->n_rows; i++)
        take_group(&availability, place->rows[i]);
    if (availability.n_groups == 0)
        absence_explain(place, &availability);
    bool failed = availability.message.failed;
    if (!failed)
        survey->visit(survey->userdata, &availability);
    buffer_done(&availability.message);
    return failed ? -ENOMEM : 0;
}

/* The error of a collector that fails, or "". */
static const char *collector_error(const struct survey *survey, const char *collector)
{
    struct collector_status status;

    for (size_t i = 0; registry_status(survey->registry, i, &status); i++)
        if (str_equal(status.name, collector))
            return status.error;
    return "";
}

/* A metric that a collector has nowhere, for a reason that is not about one PMU. */
static int visit_nowhere(const struct survey *survey, const char *collector, const struct derived_metric *metric,
                         enum absence absence)
{
    struct availability availability = {.metric = metric, .collector = collector, .pmu = "", .absence = absence};
    struct buffer *message = &availability.message;

    if (absence == ABSENCE_DISABLED)
        buffer_appendf(message, "the collector is disabled: set collectors.%s.enabled to true", collector);
    else if (absence == ABSENCE_FAILED)
        buffer_appendf(message, "the collector fails: %s", collector_error(survey, collector));
    else if (absence == ABSENCE_NO_CGROUP)
        buffer_append_text(message, "no cgroup is counted: /api/v1/cgroups shows which match, and why");
    else if (absence == ABSENCE_NOT_COUNTED)
        buffer_appendf(message, "nothing is counted: add a group to collectors.%s.groups", collector);
    else
        buffer_append_text(message, "this machine has no PMU that counts it: ");
    for (size_t i = 0; absence == ABSENCE_NO_PMU && metric->formulas[i].text; i++)
        buffer_appendf(message, "%s%s", i ? ", " : "", metric->formulas[i].pmu ? metric->formulas[i].pmu : "any");
    bool failed = message->failed;
    if (!failed)
        survey->visit(survey->userdata, &availability);
    buffer_done(message);
    return failed ? -ENOMEM : 0;
}

/* --- the places of a collector --- */

/* Rows of software events, which no PMU of a CPU counts, are of all CPUs. */
static bool is_of_place(const struct survey *survey, const struct row *row, const struct pmu *pmu)
{
    const struct pmu *own = machine_find_pmu(survey->machine, row->pmu);

    return str_equal(row->pmu, pmu->name) || (pmu->scope == PMU_CORE && (!own || own->scope == PMU_ANY));
}

/* Whether the metric has a formula for that PMU; a formula for any PMU is one of those that are counted. */
static bool is_defined_for(const struct derived_metric *metric, const struct absence_place *place)
{
    for (size_t i = 0; metric->formulas[i].text; i++) {
        const char *pattern = metric->formulas[i].pmu;
        if (pattern ? glob_match(pattern, place->pmu_name) : place->n_rows > 0)
            return true;
    }
    return false;
}

/* Visits the metric with the PMU, if the collector can count with that. `rows` has room for all kinds. */
static int visit_pmu(const struct survey *survey, size_t bit, enum derived_target target,
                     const struct derived_metric *metric, const struct pmu *pmu, const struct row **rows,
                     bool *ret_visited)
{
    struct absence_place place = {
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

/* Whether the collector failed as a whole. Events that could not be opened have their own reasons. */
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

/* Why the collector as a whole has no derived metric; ABSENCE_NONE where it may have some. */
static enum absence collector_absence(const struct survey *survey, size_t which)
{
    const char *collector = countable[which].collector->name;
    struct collector_status status;

    for (size_t i = 0; registry_status(survey->registry, i, &status); i++)
        if (str_equal(status.name, collector) && !status.enabled)
            return ABSENCE_DISABLED;
    if (is_failed(survey, countable[which].collector))
        return ABSENCE_FAILED;
    for (size_t i = 0; i < survey->kinds.n; i++)
        if (str_equal(survey->kinds.rows[i]->collector_name, collector))
            return ABSENCE_NONE;
    return str_equal(collector, collector_cgroup.name) ? ABSENCE_NO_CGROUP : ABSENCE_NONE;
}

static int visit_collector(const struct survey *survey, size_t i, const struct derived_metric *metric)
{
    const char *collector = countable[i].collector->name;
    enum absence absence = collector_absence(survey, i);
    bool visited = false;
    int r = 0;

    if (absence != ABSENCE_NONE)
        return visit_nowhere(survey, collector, metric, absence);
    _cleanup_(freep) const struct row **rows = calloc(survey->kinds.n + 1, sizeof(const struct row *));
    if (!rows)
        return -ENOMEM;
    for (size_t k = 0; r == 0 && k < survey->machine->n_pmus; k++)
        r = visit_pmu(survey, i, countable[i].target, metric, survey->machine->pmus[k], rows, &visited);
    if (r < 0 || visited)
        return r;
    return visit_nowhere(survey, collector, metric, metric->formulas[0].pmu ? ABSENCE_NO_PMU : ABSENCE_NOT_COUNTED);
}

int availability_each(struct registry *registry, const struct machine *machine, availability_visit visit,
                      void *userdata)
{
    const struct snapshot *snapshot = registry_read(registry, 0, UINT64_MAX);
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
