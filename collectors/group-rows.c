/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of a configured group on a target: see group-rows.h. */
#include "collectors/group-rows.h"

#include <stdio.h>

#include "base/cleanup.h"

/* Whether the machine has CPUs of several kinds, and the group counts something that depends on the kind. */
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

/* --- which row an opened group goes to --- */

/* This distinguishes a row from the others of the configured group. */
struct row_key {
    unsigned ordinal;
    int cpu; /* -1: of all CPUs */
    const char *pmu;
};

/* How many perf groups the configured group became on the CPU of `groups[last]`. */
static unsigned count_groups_on_cpu(const struct opened_group *groups, uint32_t last)
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
        if (row->ordinal == ordinal && row->row->cpu == cpu && str_equal(row->row->pmu, pmu))
            return row;
    }
    return NULL;
}

/*
 * The hardware PMU of a perf group, else that of its first event. Summed rows go by kinds of CPU: where these differ,
 * or where only this CPU lacks the hardware events that the others of its kind have, it is the CPU's PMU in any case.
 */
static const char *row_key_pmu(const struct group_rows *rows, const struct row_key *key, const struct machine *machine,
                               const struct place_events *events, const struct opened_group *group)
{
    const char *first = NULL;

    EVENTS_FOREACH (event, group->events) {
        const struct pmu *pmu = events->attrs[event].pmu;
        if (pmu->scope != PMU_ANY)
            return pmu->name;
        first = first ? first : pmu->name;
    }
    if (rows->summed) {
        const char *core = machine_core_pmu(machine, (unsigned)group->cpu)->name;
        if (rows->spans_kinds || group_rows_find(rows, key->ordinal, key->cpu, core))
            return core;
    }
    return first;
}

static struct row_key row_key_of(const struct group_rows *rows, const struct machine *machine,
                                 const struct place_events *events, const struct opened_group *groups, uint32_t last)
{
    struct row_key key = {.ordinal = count_groups_on_cpu(groups, last), .cpu = rows->summed ? -1 : groups[last].cpu};

    key.pmu = row_key_pmu(rows, &key, machine, events, &groups[last]);
    return key;
}

/* --- making a row --- */

/* Two rows of one name would show the same software event as the same series. */
static bool has_sibling(const struct group_rows *rows, const struct row_key *key)
{
    for (size_t i = 0; i < rows->n; i++)
        if (rows->items[i].ordinal == key->ordinal && rows->items[i].row->cpu == key->cpu &&
            !str_equal(rows->items[i].row->pmu, key->pmu))
            return true;
    return false;
}

/* How a counter of this scale is served: exact decimals where the scale is a power of ten, else a double. */
static uint8_t scale_decimals(double scale)
{
    if (scale == 1.0)
        return 0;
    return scale == 1e-9 ? 9 : SERIES_REAL;
}

static void row_counter_done(struct row_counter *counter)
{
    free((char *)counter->metric.name);
    free((char *)counter->metric.help);
}

/* Its metric is perf_COLLECTOR_EVENT[_UNIT]_total. -ENOMEM; row_counter_done() in any case. */
static int row_counter_init(struct row_counter *counter, const char *collector, const struct config_event *event,
                            const struct attr *attr, const char *pmu)
{
    const char *unit = event_unit_suffix(&event->event, attr->unit), *separator = unit[0] ? "_" : "";
    char *name = NULL;

    if (asprintf(&name, "perf_%s_%s%s%s_total", collector, event->event.metric, separator, unit) < 0)
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

/* "cache", then "cache-2", ...: the configuration refuses groups of such names. */
static char *group_row_name(const char *group, unsigned ordinal)
{
    char *name;

    if (ordinal == 1)
        return strdup(group);
    return asprintf(&name, "%s-%u", group, ordinal) < 0 ? NULL : name;
}

/* `own_pmus`: counters name their own PMU, as "software" in a mixed group; else all name the row's. */
static struct row *group_row_make(const struct collector_context *context, const struct place_events *events,
                                  uint64_t mask, const struct row_target *target, bool own_pmus)
{
    const char *collector = context->snapshot->collector_names[context->collector];
    struct row_counter counters[GROUP_MEMBERS_MAX];
    struct row *row = NULL;
    size_t n = 0;
    int r = 0;

    EVENTS_FOREACH (event, mask) {
        const struct attr *attr = &events->attrs[event];
        if (r == 0)
            r = row_counter_init(&counters[n++], collector, &events->group->events[event], attr,
                                 own_pmus ? attr->pmu->name : target->pmu);
    }
    if (r == 0)
        row = snapshot_add_row(context->snapshot, target, counters, n);
    for (size_t i = 0; i < n; i++)
        row_counter_done(&counters[i]);
    return row;
}

static unsigned pmu_slots(const struct machine *machine, const char *name)
{
    const struct pmu *pmu = machine_find_pmu(machine, name);

    return pmu ? pmu->slots : 0;
}

/* Gives `group_row` a row with counters of the events in `mask`, in place of the one that it had. */
static int group_row_replace(const struct group_rows *rows, struct group_row *group_row, const struct row_key *key,
                             const struct collector_context *context, const struct place_events *events,
                             const struct place *place, uint64_t mask)
{
    _cleanup_(freep) char *name = group_row_name(events->group->name, key->ordinal);
    struct row_target target = {.collector = context->collector,
                                .group = name,
                                .pmu = key->pmu,
                                .cgroup = place->cgroup,
                                .names = place->names,
                                .cpu = key->cpu,
                                .slots = pmu_slots(context->machine, key->pmu),
                                .created_ns = group_row->created_ns};
    bool own_pmus = !rows->spans_kinds && !has_sibling(rows, key);
    struct row *row = name ? group_row_make(context, events, mask, &target, own_pmus) : NULL;

    if (!row)
        return -ENOMEM;
    if (group_row->row)
        snapshot_remove_row(context->snapshot, group_row->row);
    group_row->row = row;
    group_row->events = mask;
    return 0;
}

int group_rows_add(struct group_rows *rows, const struct collector_context *context, const struct place_events *events,
                   const struct place *place, struct opened_group *groups, uint32_t last)
{
    struct row_key key = row_key_of(rows, context->machine, events, groups, last);
    struct group_row *found = group_rows_find(rows, key.ordinal, key.cpu, key.pmu);
    uint64_t mask = groups[last].events;
    int r = 0;

    if (!found) {
        r = array_grow(&rows->items, rows->n);
        if (r < 0)
            return r;
        found = &rows->items[rows->n];
        /* Cgroups come and go, and Prometheus cannot see that a series began at 0. */
        *found = (struct group_row){.first = GROUP_ROW_END,
                                    .ordinal = key.ordinal,
                                    .created_ns = place->cgroup ? context->sys->now(context->sys, CLOCK_REALTIME) : 0};
    }
    found->uneven |= found->first != GROUP_ROW_END && mask != found->events;
    if (mask & ~found->events)
        r = group_row_replace(rows, found, &key, context, events, place, mask | found->events);
    if (r < 0)
        return r;
    rows->n += found == &rows->items[rows->n];
    found->row->uneven = found->uneven;
    groups[last].next_in_row = found->first;
    found->first = last;
    return 0;
}

/* --- updating the rows --- */

struct counter_total {
    struct fixed value;
    uint64_t raw;
    bool known;
};

/* The sums over the opened groups of a row. */
struct row_totals {
    size_t activities[N_GROUP_ACTIVITIES];
    int error; /* of a group that cannot be read */
    struct scale_times times;
    struct counter_total counters[GROUP_MEMBERS_MAX];
};

static bool is_unreadable(const struct opened_group *group)
{
    return group->activity == GROUP_STARVED || group->activity == GROUP_STALE;
}

/* A group has the events of the row, or a few of them where its CPU lacks the others. */
static void row_totals_add_counters(struct row_totals *totals, const struct opened_group *group, uint64_t events)
{
    bool known = group->scale->ran || !is_unreadable(group);
    size_t k = 0;

    for (struct counter_total *total = totals->counters; events; total++, events &= events - 1) {
        if (!(group->events & events & -events))
            continue;
        const struct scale_counter *counter = &group->scale->counters[k++];
        total->value = fixed_add(total->value, counter->total);
        total->raw += counter->raw;
        total->known |= known;
    }
}

static void row_totals_add(struct row_totals *totals, const struct opened_group *group, uint64_t events)
{
    struct scale_times times = scale_times(group->scale);

    totals->times.enabled += times.enabled;
    totals->times.running += times.running;
    totals->activities[group->activity]++;
    if (is_unreadable(group) && group->error)
        totals->error = group->error;
    row_totals_add_counters(totals, group, events);
}

/*
 * Nothing is known where no group ran and some were enabled. A CPU that went away says nothing while others are there.
 * Where nothing happened at all the state stays what it was.
 */
static enum row_state row_totals_state(const struct row_totals *totals, enum row_state before)
{
    const size_t *n = totals->activities;

    if (n[GROUP_COUNTED] + n[GROUP_MULTIPLEXED] > 0)
        return n[GROUP_MULTIPLEXED] + n[GROUP_STARVED] > 0 ? ROW_MULTIPLEXED : ROW_COUNTING;
    if (n[GROUP_STARVED] > 0 || (n[GROUP_STALE] > 0 && n[GROUP_IDLE] == 0))
        return ROW_STARVED;
    return before == ROW_STARVED && n[GROUP_IDLE] > 0 ? ROW_COUNTING : before;
}

static void update_counter(struct counter *counter, const struct counter_total *total, bool visible)
{
    if (counter->decimals == SERIES_REAL)
        series_set_real(counter->series, fixed_real(total->value) * counter->scale);
    else
        series_set(counter->series, total->value.whole);
    counter->series->visible = visible;
    counter->value = counter->series->value;
    counter->raw = total->raw;
    counter->known = total->known;
}

void group_row_update(const struct group_row *group_row, const struct opened_group *groups)
{
    struct row *row = group_row->row;
    struct row_totals totals;

    if (row->absent)
        return;
    memset(&totals, 0, offsetof(struct row_totals, counters) + row->n_counters * sizeof(totals.counters[0]));
    for (uint32_t i = group_row->first; i != GROUP_ROW_END; i = groups[i].next_in_row)
        row_totals_add(&totals, &groups[i], group_row->events);
    row->state = row_totals_state(&totals, row->state);
    /* A part of the CPUs of a row may be missing. */
    bool is_explained = row->state == ROW_STARVED || (row->state == ROW_MULTIPLEXED && totals.error);
    row->cause = is_explained ? opened_group_explain(totals.error) : NULL;
    row->enabled_ns = totals.times.enabled;
    row->running_ns = totals.times.running;
    series_set(row->enabled, totals.times.enabled);
    series_set(row->running, totals.times.running);
    for (size_t i = 0; i < row->n_counters; i++) {
        const struct counter_total *total = &totals.counters[i];
        update_counter(&row->counters[i], total, total->known && row->state != ROW_STARVED);
    }
}

static void row_set_absent(struct row *row, bool absent)
{
    row->absent = absent;
    if (!absent)
        return;
    row->enabled->visible = row->running->visible = false;
    for (size_t i = 0; i < row->n_counters; i++)
        row->counters[i].series->visible = false;
}

void group_rows_settle(struct group_rows *rows, const struct opened_group *groups)
{
    for (size_t i = 0; i < rows->n; i++) {
        struct row *row = rows->items[i].row;
        bool absent = row->cpu >= 0;
        row->n_descriptors = 0;
        for (uint32_t k = rows->items[i].first; k != GROUP_ROW_END; k = groups[k].next_in_row) {
            absent &= groups[k].activity == GROUP_AWAY;
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
        int at = __builtin_popcountll(group_row->events & (bit - 1));
        if ((group_row->events & bit) && group_row->row->cpu == cpu && str_equal(group_row->row->counters[at].pmu, pmu))
            return true;
    }
    return false;
}

void group_rows_count(const struct group_rows *rows, size_t counts[N_ROW_STATES])
{
    for (size_t i = 0; i < rows->n; i++)
        counts[rows->items[i].row->state] += !rows->items[i].row->absent;
}
