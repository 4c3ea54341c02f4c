/* SPDX-License-Identifier: Apache-2.0 */
#include "collectors/group-rows.h"

#include <stdio.h>

#include "base/cleanup.h"

/* --- sums --- */

void row_sum_init(struct row_sum *sum, size_t n)
{
    memset(sum, 0, offsetof(struct row_sum, counters) + n * sizeof(sum->counters[0]));
}

/*
 * A row is starved if some of its groups were enabled but none ran, or if CPUs went offline and nothing else happened.
 * A starved row returns to the state "counting" once its groups are idle; any other row keeps its state while its
 * groups are idle.
 */
static enum row_state row_sum_state(const struct row_sum *sum, enum row_state before)
{
    const uint32_t counted = 1U << GROUP_COUNTED, multiplexed = 1U << GROUP_MULTIPLEXED, starved = 1U << GROUP_STARVED;
    const uint32_t stale = 1U << GROUP_STALE, idle = 1U << GROUP_IDLE;

    if (sum->activities & (counted | multiplexed))
        return sum->activities & (multiplexed | starved) ? ROW_MULTIPLEXED : ROW_COUNTING;
    if ((sum->activities & starved) || (sum->activities & (stale | idle)) == stale)
        return ROW_STARVED;
    return before == ROW_STARVED && (sum->activities & idle) ? ROW_COUNTING : before;
}

static void counter_sum_show(const struct counter_sum *sum, struct counter *counter, bool visible)
{
    if (counter->decimals == SERIES_REAL)
        series_set_real(counter->series, fixed_real(sum->total) * counter->scale);
    else
        series_set(counter->series, sum->total.whole);
    counter->series->visible = visible;
    counter->value = counter->series->value;
    counter->raw = sum->raw;
    counter->known = sum->known;
}

void row_sum_show(const struct row_sum *sum, struct row *row)
{
    row->state = row_sum_state(sum, row->state);
    /* A multiplexed row has a cause only if counts are missing because some CPUs could not be read. */
    bool is_explained = row->state == ROW_STARVED || (row->state == ROW_MULTIPLEXED && sum->error);
    row->cause = is_explained ? open_group_explain(sum->error) : NULL;
    row->enabled_ns = sum->times.enabled;
    row->running_ns = sum->times.running;
    series_set(row->enabled, sum->times.enabled);
    series_set(row->running, sum->times.running);
    for (size_t i = 0; i < row->n_counters; i++)
        counter_sum_show(&sum->counters[i], &row->counters[i], sum->counters[i].known && row->state != ROW_STARVED);
}

void row_hide(struct row *row)
{
    row->enabled->visible = row->running->visible = false;
    for (size_t i = 0; i < row->n_counters; i++)
        row->counters[i].series->visible = false;
}

/* --- rows --- */

/*
 * Returns whether the machine has several kinds of core and the group has an event whose meaning depends on the kind.
 */
static bool spans_kinds(const struct machine *machine, const struct config_group *group)
{
    size_t kinds = 0;
    bool depends = false;

    for (size_t i = 0; i < machine->n_pmus; i++)
        kinds += machine->pmus[i]->scope == PMU_CORE && cpuset_next(&machine->pmus[i]->cpus, -1) >= 0;
    CPUSET_FOREACH (cpu, &machine->possible)
        for (size_t i = 0; i < group->n_events; i++) {
            const struct pmu *pmu = attr_pmu(machine, &group->events[i].event, (unsigned)cpu);
            depends |= pmu && pmu->scope != PMU_ANY;
        }
    return kinds > 1 && depends;
}

void group_rows_init(struct group_rows *rows, const struct machine *machine, const struct config_group *group,
                     bool summed)
{
    *rows = (struct group_rows){.summed = summed, .spans_kinds = summed && spans_kinds(machine, group)};
}

void group_rows_done(struct group_rows *rows, struct snapshot *snapshot)
{
    for (size_t i = 0; i < rows->n; i++)
        snapshot_remove_row(snapshot, rows->items[i].row);
    free(rows->items);
    *rows = (struct group_rows){0};
}

/* --- placement --- */

/*
 * Returns the ordinal of the perf group `groups[last]`: how many of the perf groups up to this one are on the same CPU.
 */
static unsigned count_groups_on_cpu(const struct open_group *groups, uint32_t last)
{
    unsigned n = 0;

    for (uint32_t i = 0; i <= last; i++)
        n += groups[i].cpu == groups[last].cpu;
    return n;
}

static struct group_row *group_rows_find(const struct group_rows *rows, unsigned ordinal, int cpu, const char *pmu)
{
    for (size_t i = 0; i < rows->n; i++) {
        struct group_row *row = &rows->items[i];
        if (row->ordinal == ordinal && row->cpu == cpu && str_equal(row->pmu, pmu))
            return row;
    }
    return NULL;
}

/*
 * Returns the hardware PMU of a perf group, or the PMU of its first event if no event counts in hardware (software
 * events, tracepoints).
 *
 * If no event counts in hardware, a summed row uses the core PMU of the CPU instead in two cases: the rows distinguish
 * kinds of core, or this CPU lacks the hardware events that other CPUs of its kind have.
 */
static const char *part_pmu(const struct group_rows *rows, const struct machine *machine,
                            const struct target_events *events, const struct row_part *part)
{
    const char *first = NULL;

    EVENTS_FOREACH (event, part->events) {
        const struct pmu *pmu = events->attrs[event].pmu;
        if (pmu->scope != PMU_ANY)
            return pmu->name;
        first = first ? first : pmu->name;
    }
    if (rows->summed) {
        const char *core = machine_core_pmu(machine, (unsigned)part->cpu)->name;
        if (rows->spans_kinds || group_rows_find(rows, part->ordinal, -1, core))
            return core;
    }
    return first;
}

int group_rows_place(struct group_rows *rows, const struct collector_env *env, const struct target_events *events,
                     const struct row_part *part, struct group_row **ret)
{
    int cpu = rows->summed ? -1 : part->cpu;
    const char *pmu = part_pmu(rows, env->machine, events, part);
    struct group_row *found = group_rows_find(rows, part->ordinal, cpu, pmu);

    if (!found) {
        int r = array_grow(&rows->items, rows->n);
        if (r < 0)
            return r;
        found = &rows->items[rows->n++];
        *found = (struct group_row){
            .first = GROUP_ROW_END, .ordinal = (uint8_t)part->ordinal, .cpu = (int16_t)cpu, .pmu = pmu};
    }
    *ret = found;
    return 0;
}

/* --- creation --- */

/*
 * Returns whether another row has the same name and CPU but another PMU. A software event that is labelled with its own
 * PMU would be the same series in both rows.
 */
static bool has_sibling(const struct group_rows *rows, const struct group_row *row)
{
    for (size_t i = 0; i < rows->n; i++)
        if (rows->items[i].ordinal == row->ordinal && rows->items[i].cpu == row->cpu &&
            !str_equal(rows->items[i].pmu, row->pmu))
            return true;
    return false;
}

/* Returns the value of series.decimals for a scale: counts and nanoseconds are exact, other values are doubles. */
static uint8_t scale_decimals(double scale)
{
    if (scale == 1.0)
        return 0;
    return scale == 1e-9 ? 9 : SERIES_REAL;
}

void row_template_done(struct row_template *template)
{
    for (size_t i = 0; i < template->n; i++) {
        free((char *)template->counters[i].metric.name);
        free((char *)template->counters[i].metric.help);
    }
    free(template->name);
    *template = (struct row_template){0};
}

/*
 * Names the metric perf_COLLECTOR_EVENT[_UNIT]_total. On -ENOMEM, freeing the template also frees the names that were
 * allocated.
 */
static int row_counter_init(struct row_counter *counter, const struct collector_env *env,
                            const struct config_event *event, const struct attr *attr, const char *pmu)
{
    const char *unit = event_unit_suffix(&event->event, attr->unit), *separator = unit[0] ? "_" : "";
    char *name = NULL;

    if (asprintf(&name, "perf_%s_%s%s%s_total", env->snapshot->collector_names[env->collector], event->event.metric,
                 separator, unit) < 0)
        name = NULL;
    *counter = (struct row_counter){
        .event = event->event.metric,
        .pmu = pmu,
        .unit = attr->unit,
        .decimals = scale_decimals(attr->scale),
        .scale = attr->scale,
        .metric = {.name = name,
                   .help = event->help ? strdup(event->help) : event_help(&event->event),
                   .unit = attr->unit,
                   .type = METRIC_COUNTER},
    };
    return counter->metric.name && counter->metric.help ? 0 : -ENOMEM;
}

/*
 * Returns the name of the group with its ordinal: "cache", then "cache-2", and so on. The configuration rejects groups
 * with names such as "cache-2".
 */
static char *group_row_name(const char *group, unsigned ordinal)
{
    char *name;

    if (ordinal == 1)
        return strdup(group);
    return asprintf(&name, "%s-%u", group, ordinal) < 0 ? NULL : name;
}

static unsigned pmu_slots(const struct machine *machine, const char *name)
{
    const struct pmu *pmu = machine_find_pmu(machine, name);

    return pmu ? pmu->slots : 0;
}

int row_template_init(struct row_template *template, struct row_counter *counters, const struct collector_env *env,
                      const struct group_rows *rows, const struct group_row *row, const struct target_events *events,
                      uint64_t mask)
{
    /* Counters are labelled with their own PMU, such as "software" in a mixed group, unless that label is ambiguous. */
    bool own_pmus = !rows->spans_kinds && !has_sibling(rows, row);
    int r;

    *template = (struct row_template){.name = group_row_name(events->group->name, row->ordinal),
                                      .counters = counters,
                                      .slots = pmu_slots(env->machine, row->pmu)};
    r = template->name ? 0 : -ENOMEM;
    EVENTS_FOREACH (event, mask) {
        const struct attr *attr = &events->attrs[event];
        if (r == 0)
            r = row_counter_init(&counters[template->n++], env, &events->group->events[event], attr,
                                 own_pmus ? attr->pmu->name : row->pmu);
    }
    if (r < 0)
        row_template_done(template);
    return r;
}

struct row *row_template_make(const struct row_template *template, const struct collector_env *env,
                              const struct group_row *row, const struct row_target *whose)
{
    struct row_target target = *whose;

    target.collector = env->collector;
    target.group = template->name;
    target.pmu = row->pmu;
    target.cpu = row->cpu;
    target.slots = template->slots;
    return snapshot_add_row(env->snapshot, &target, template->counters, template->n);
}

/* Creates a row with counters for the events in `mask`, which replaces the existing row, if any. */
static int group_row_replace(const struct group_rows *rows, struct group_row *group_row,
                             const struct collector_env *env, const struct target_events *events,
                             const struct target *target, uint64_t mask)
{
    struct row_target whose = {.cgroup = target->cgroup, .names = target->names, .created_ns = group_row->created_ns};
    struct row_counter counters[GROUP_MEMBERS_MAX];
    _cleanup_(row_template_done) struct row_template template = {0};
    int r = row_template_init(&template, counters, env, rows, group_row, events, mask);
    struct row *row = r == 0 ? row_template_make(&template, env, group_row, &whose) : NULL;

    if (!row)
        return -ENOMEM;
    if (group_row->row)
        snapshot_remove_row(env->snapshot, group_row->row);
    group_row->row = row;
    group_row->pmu = row->pmu;
    group_row->events = mask;
    return 0;
}

int group_rows_add(struct group_rows *rows, const struct collector_env *env, const struct target_events *events,
                   const struct target *target, struct open_group *groups, uint32_t last)
{
    uint64_t mask = groups[last].events;
    struct row_part part = {
        .cpu = groups[last].cpu, .ordinal = count_groups_on_cpu(groups, last), .events = groups[last].events};
    struct group_row *row;
    int r = group_rows_place(rows, env, events, &part, &row);

    if (r < 0)
        return r;
    /* Because cgroups come and go, Prometheus needs _created to know when a series started at 0. */
    if (!row->row)
        row->created_ns = target->cgroup ? sys_now(env->sys, CLOCK_REALTIME) : 0;
    row->uneven |= row->row && mask != row->events;
    if (mask & ~row->events)
        r = group_row_replace(rows, row, env, events, target, mask | row->events);
    if (r < 0) {
        rows->n -= !row->row; /* removes a row that was just appended */
        return r;
    }
    row->row->uneven = row->uneven;
    groups[last].next_in_row = row->first;
    row->first = last;
    return 0;
}

/* --- update --- */

static bool is_unreadable(const struct open_group *group)
{
    return group->activity == GROUP_STARVED || group->activity == GROUP_STALE;
}

/* An open group has the row's events, or fewer if its CPU lacks some of them. */
static void row_sum_add_counters(struct row_sum *sum, const struct open_group *group, uint64_t events, bool known)
{
    size_t k = 0;

    for (struct counter_sum *counter = sum->counters; events; counter++, events &= events - 1) {
        if (!(group->events & events & -events))
            continue;
        const struct scale_counter *own = &group->scale->counters[k++];
        counter->total = fixed_add(counter->total, own->total);
        counter->raw += own->raw;
        counter->known |= known;
    }
}

static void row_sum_add(struct row_sum *sum, const struct open_group *group, uint64_t events)
{
    struct scale_times times = scale_times(group->scale);
    bool unreadable = is_unreadable(group);

    sum->times.enabled += times.enabled;
    sum->times.running += times.running;
    row_sum_note(sum, group->activity, unreadable ? group->error : 0);
    row_sum_add_counters(sum, group, events, group->scale->ran || !unreadable);
}

void group_row_update(const struct group_row *group_row, const struct open_group *groups)
{
    struct row_sum sum;

    if (group_row->row->absent)
        return;
    row_sum_init(&sum, group_row->row->n_counters);
    for (uint32_t i = group_row->first; i != GROUP_ROW_END; i = groups[i].next_in_row)
        row_sum_add(&sum, &groups[i], group_row->events);
    row_sum_show(&sum, group_row->row);
}

void group_rows_settle(struct group_rows *rows, const struct open_group *groups)
{
    for (size_t i = 0; i < rows->n; i++) {
        struct row *row = rows->items[i].row;
        bool absent = rows->items[i].cpu >= 0;
        row->n_descriptors = 0;
        for (uint32_t k = rows->items[i].first; k != GROUP_ROW_END; k = groups[k].next_in_row) {
            absent &= groups[k].activity == GROUP_OFFLINE;
            row->n_descriptors += groups[k].group ? (uint32_t)group_size(groups[k].group) : 0;
        }
        row_set_absent(row, absent);
    }
    rows->quiet = false;
}

bool group_rows_have(const struct group_rows *rows, size_t event, int cpu, const char *pmu)
{
    uint64_t bit = event_bit(event);

    for (size_t i = 0; i < rows->n; i++) {
        const struct group_row *group_row = &rows->items[i];
        size_t at = event_count(group_row->events & (bit - 1));
        if ((group_row->events & bit) && group_row->cpu == cpu && str_equal(group_row->row->counters[at].pmu, pmu))
            return true;
    }
    return false;
}

void group_rows_count(const struct group_rows *rows, size_t counts[N_ROW_STATES])
{
    for (size_t i = 0; i < rows->n; i++)
        counts[rows->items[i].row->state] += !rows->items[i].row->absent;
}
