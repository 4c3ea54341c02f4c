/* SPDX-License-Identifier: Apache-2.0 */
#include "collectors/rates.h"

#include <math.h>

#include "base/cleanup.h"
#include "base/number.h"
#include "perf/group.h"

/* --- rates --- */

struct past_row {
    uint64_t id;
    uint64_t enabled_ns, running_ns, busy_ns, lost_ns;
    size_t first; /* index of the row's first counter */
    size_t n;
    bool busy_known;
    bool unknown, absent; /* `unknown`: the group was starved, or its collector had failed */
};

struct baseline {
    uint64_t monotonic_ns, pauses, next_row_id;
    struct past_row *rows; /* in ascending order of ids, like the rows of a snapshot */
    size_t n_rows;
    struct growth_event *counters; /* the counters' values, and whether each is known */
};

struct baseline *baseline_free(struct baseline *baseline)
{
    if (!baseline)
        return NULL;
    free(baseline->rows);
    free(baseline->counters);
    free(baseline);
    return NULL;
}
DEFINE_CLEANUP(struct baseline *, baseline_free);

static size_t snapshot_count_counters(const struct snapshot *snapshot)
{
    size_t n = 0;

    for (size_t i = 0; i < snapshot->n_rows; i++)
        n += snapshot->rows[i]->n_counters;
    return n;
}

/*
 * Returns the busy time of the row's CPU, or NULL if the busy time is unknown or the row is not that of a single CPU.
 */
static const struct busy_time *row_busy_time(const struct snapshot *snapshot, const struct row *row)
{
    return row->cpu >= 0 ? busy_times_find(&snapshot->busy, (unsigned)row->cpu) : NULL;
}

static void baseline_add_row(struct baseline *baseline, const struct snapshot *snapshot, const struct row *row,
                             size_t *first)
{
    const struct busy_time *busy = row_busy_time(snapshot, row);
    const struct clock_limit *limit = clock_limit_find(&snapshot->clock_limits, row->cpu);

    baseline->rows[baseline->n_rows++] = (struct past_row){
        .id = row->id,
        .enabled_ns = row->enabled_ns,
        .running_ns = row->running_ns,
        .busy_ns = busy ? busy->total_ns : 0,
        .busy_known = busy,
        .lost_ns = limit ? limit->lost_ns : UINT64_MAX,
        .first = *first,
        .n = row->n_counters,
        .unknown = row->state == ROW_STARVED || snapshot_row_failed(snapshot, row),
        .absent = row->absent,
    };
    for (size_t i = 0; i < row->n_counters; i++)
        baseline->counters[(*first)++] = (struct growth_event){
            .value = row->counters[i].value,
            .known = row->counters[i].known,
        };
}

struct baseline *baseline_new(const struct snapshot *snapshot)
{
    _cleanup_(baseline_freep) struct baseline *baseline = calloc(1, sizeof(*baseline));
    size_t first = 0;

    if (!baseline)
        return NULL;
    baseline->monotonic_ns = snapshot->monotonic_ns;
    baseline->pauses = snapshot->pauses;
    baseline->next_row_id = snapshot->next_row_id;
    baseline->rows = calloc(snapshot->n_rows + 1, sizeof(baseline->rows[0]));
    baseline->counters = calloc(snapshot_count_counters(snapshot) + 1, sizeof(baseline->counters[0]));
    if (!baseline->rows || !baseline->counters)
        return NULL;
    for (size_t i = 0; i < snapshot->n_rows; i++)
        baseline_add_row(baseline, snapshot, snapshot->rows[i], &first);
    return steal(baseline);
}

static int compare_id(const void *key, const void *element)
{
    uint64_t id = *(const uint64_t *)key, other = ((const struct past_row *)element)->id;

    return (id > other) - (id < other);
}

struct metric_set_times growth_times(const struct growth *growth, double seconds)
{
    struct metric_set_times times = {NAN, NAN, NAN, seconds};

    if (growth->has_times) {
        times.enabled = (double)growth->enabled_ns / (double)NSEC_PER_SEC;
        times.running = (double)growth->running_ns / (double)NSEC_PER_SEC;
    }
    if (growth->has_busy)
        times.busy = (double)growth->busy_ns / (double)NSEC_PER_SEC;
    return times;
}

bool baseline_predates(const struct baseline *baseline, const struct row *row)
{
    return row->id >= baseline->next_row_id;
}

double rates_seconds(const struct baseline *baseline, const struct snapshot *snapshot)
{
    return (double)(snapshot->monotonic_ns - baseline->monotonic_ns) / (double)NSEC_PER_SEC;
}

/* Returns the growth in the counter's encoding. The growth is unknown if the counter decreased. */
static struct growth_event counter_growth(const struct counter *now, uint64_t then)
{
    struct growth_event growth = {.value = now->value - then, .known = now->value >= then};
    double value, before;

    if (now->decimals != SERIES_REAL)
        return growth;
    memcpy(&value, &now->value, sizeof(value));
    memcpy(&before, &then, sizeof(before));
    value -= before;
    memcpy(&growth.value, &value, sizeof(value));
    growth.known = value >= 0;
    return growth;
}

double growth_real(const struct growth_event *growth, uint8_t decimals)
{
    double value;

    if (!growth->known)
        return NAN;
    if (decimals != SERIES_REAL)
        return (double)growth->value / (double)number_power_of_ten(decimals);
    memcpy(&value, &growth->value, sizeof(value));
    return value;
}

static void rates_add_ratios(struct rates *rates)
{
    const struct metric_set *metric_set = rates->row->metric_set;

    for (size_t i = 0; i < metric_set_count(metric_set); i++) {
        if (rates->row->uneven && metric_set_compares_events(metric_set, i))
            continue;
        double value = metric_set_value(metric_set, i, rates->events, &rates->times);
        if (!isnan(value))
            rates->ratios[rates->n_ratios++] = (struct ratio){metric_set_metric(metric_set, i)->name, value};
    }
}

/* Returns whether counting was paused for a part of the interval. */
static bool was_paused(const struct baseline *baseline, const struct snapshot *snapshot)
{
    return baseline->pauses != snapshot->pauses || snapshot->pauses % 2 != 0;
}

int baseline_growth(const struct baseline *baseline, const struct snapshot *snapshot, const struct row *row,
                    struct growth_event *events, struct growth *ret)
{
    const struct past_row *then =
        bsearch(&row->id, baseline->rows, baseline->n_rows, sizeof(baseline->rows[0]), compare_id);

    if (!then || then->absent || then->n != row->n_counters || row->absent || row->state == ROW_UNAVAILABLE)
        return -ENODATA;
    /*
     * The totals of a starved group stand still and later catch up all at once, so their growth says nothing about this
     * interval.
     */
    bool failed = snapshot_row_failed(snapshot, row);
    *ret = (struct growth){
        .known = !then->unknown && !failed && row->state != ROW_STARVED && !was_paused(baseline, snapshot),
        .has_times = !failed && row->enabled_ns >= then->enabled_ns && row->running_ns >= then->running_ns,
    };
    if (ret->has_times) {
        ret->enabled_ns = row->enabled_ns - then->enabled_ns;
        ret->running_ns = MIN(row->running_ns - then->running_ns, ret->enabled_ns);
    }
    const struct busy_time *busy = failed ? NULL : row_busy_time(snapshot, row);
    ret->has_busy = busy && then->busy_known && busy->total_ns >= then->busy_ns;
    ret->busy_ns = ret->has_busy ? busy->total_ns - then->busy_ns : 0;
    const struct clock_limit *limit = clock_limit_find(&snapshot->clock_limits, row->cpu);
    ret->limited_ns = limit && limit->lost_ns >= then->lost_ns ? limit->lost_ns - then->lost_ns : 0;
    for (size_t i = 0; i < row->n_counters; i++) {
        const struct growth_event *before = &baseline->counters[then->first + i];
        events[i] = (struct growth_event){0};
        if (ret->known && row->counters[i].known && before->known)
            events[i] = counter_growth(&row->counters[i], before->value);
    }
    return 0;
}

int rates_row(const struct baseline *baseline, const struct snapshot *snapshot, const struct row *row, double *events,
              struct rates *ret)
{
    struct growth_event growths[GROUP_MEMBERS_MAX];
    double seconds = rates_seconds(baseline, snapshot);
    struct growth growth;
    int r =
        row->n_counters > ARRAY_SIZE(growths) ? -ENODATA : baseline_growth(baseline, snapshot, row, growths, &growth);

    if (r < 0)
        return r;
    struct rates rates = {.row = row, .events = events, .times = growth_times(&growth, seconds)};
    for (size_t i = 0; i < row->n_counters; i++)
        events[i] = seconds > 0 ? growth_real(&growths[i], row->counters[i].decimals) / seconds : NAN;
    rates_add_ratios(&rates);
    *ret = rates;
    return 0;
}

bool rates_has_cpu_time(const struct snapshot *snapshot, const struct row *row)
{
    return !row->cgroup && row_busy_time(snapshot, row);
}

double rates_cpu_utilization(const struct rates *rates)
{
    const struct metric_set_times *times = &rates->times;

    return !rates->row->cgroup && rates->row->cpu >= 0 && times->interval > 0 ? times->busy / times->interval : NAN;
}

/* --- totals --- */

static const char no_pmu[] = ""; /* shared by all metric sets, which compare PMUs by address */

static void total_done(struct total *total)
{
    cpuset_done(&total->cpus);
    free(total->pmus);
    free(total->events);
    free(total->rates);
}

void totals_done(struct totals *totals)
{
    for (size_t i = 0; i < totals->n; i++)
        total_done(&totals->items[i]);
    free(totals->items);
    hash_index_done(&totals->blocks);
    for (size_t i = 0; i < totals->n_metric_sets; i++)
        metric_set_free(totals->metric_sets[i]);
    free(totals->metric_sets);
    *totals = (struct totals){0};
}

/* Groups, PMUs, events and units are interned in the snapshot and compared by address. Cgroups are not interned. */
static uint32_t hash_block(enum totals_order order, const struct row *row)
{
    if (order == TOTALS_BY_CGROUP && row->cgroup)
        return hash_fold(hash_mix_text(row->collector, row->cgroup));
    return hash_fold(hash_mix(hash_mix(row->collector, (uintptr_t)row->group), (uintptr_t)row->pmu));
}

static bool same_cgroup(const struct row *a, const struct row *b)
{
    return a->cgroup && b->cgroup ? str_equal(a->cgroup, b->cgroup) : a->cgroup == b->cgroup;
}

static bool in_same_block(enum totals_order order, const struct row *a, const struct row *b)
{
    if (a->collector != b->collector)
        return false;
    if (order == TOTALS_BY_CGROUP && (a->cgroup || b->cgroup))
        return same_cgroup(a, b);
    return a->group == b->group && a->pmu == b->pmu;
}

static bool is_same_event(const struct counter *a, const struct counter *b)
{
    return a->event == b->event && a->unit == b->unit;
}

static bool count_the_same(const struct row *a, const struct row *b)
{
    bool same = a->n_counters == b->n_counters;

    for (size_t i = 0; same && i < a->n_counters; i++)
        same = is_same_event(&a->counters[i], &b->counters[i]);
    return same;
}

/* Returns whether two rows of the same block are added up in the same total. */
static bool are_added_up(enum totals_order order, const struct row *a, const struct row *b)
{
    if (order == TOTALS_BY_CPU && a->cpu != b->cpu)
        return false;
    if (a->group != b->group || !same_cgroup(a, b) || (a->state == ROW_UNAVAILABLE) != (b->state == ROW_UNAVAILABLE))
        return false;
    return (order == TOTALS_BY_CGROUP && a->cgroup && a->state != ROW_UNAVAILABLE) || count_the_same(a, b);
}

/*
 * Returns the index of the row's total, or TOTAL_END if the row has no total yet. In either case, sets *ret_first to
 * the first total of the row's block.
 */
static uint32_t totals_find(const struct totals *totals, uint32_t hash, const struct row *row, uint32_t *ret_first)
{
    uint32_t found;

    *ret_first = TOTAL_END;
    for (size_t at = 0; (found = hash_index_next(&totals->blocks, hash, &at)) != HASH_INDEX_NONE;) {
        if (!in_same_block(totals->order, totals->items[found].row, row))
            continue;
        *ret_first = found;
        for (uint32_t i = found; i != TOTAL_END; i = totals->items[i].next)
            if (are_added_up(totals->order, totals->items[i].row, row))
                return i;
    }
    return TOTAL_END;
}

/* Appends a new total to its block. */
static int totals_append(struct totals *totals, uint32_t hash, uint32_t first, const struct row *row)
{
    uint32_t at = (uint32_t)totals->n;

    if (array_grow(&totals->items, totals->n) < 0)
        return -ENOMEM;
    struct total *total = &totals->items[totals->n++];
    *total = (struct total){.row = row, .metric_set = row->metric_set, .next = TOTAL_END};
    total->first = first == TOTAL_END ? at : first;
    if (first == TOTAL_END && hash_index_add(&totals->blocks, hash, at) < 0)
        return -ENOMEM;
    if (first != TOTAL_END)
        totals->items[totals->items[first].last].next = at;
    totals->items[total->first].last = at;
    return 0;
}

/* Returns whether two metric sets have the same metrics by the same formulas. */
static bool derive_the_same(const struct metric_set *a, const struct metric_set *b)
{
    bool same = a == b || (a && b && metric_set_count(a) == metric_set_count(b));

    for (size_t i = 0; a != b && same && i < metric_set_count(a); i++)
        same = metric_set_formula(a, i) == metric_set_formula(b, i);
    return same;
}

/*
 * Finds or adds an event of a total. Tries the index `guess` first, which is right unless rows have different events.
 */
static int total_find_event(struct total *total, const struct counter *counter, size_t guess, size_t *ret)
{
    if (guess < total->n_events && is_same_event(total->events[guess].counter, counter)) {
        *ret = guess;
        return 0;
    }
    for (size_t i = 0; i < total->n_events; i++)
        if (is_same_event(total->events[i].counter, counter)) {
            *ret = i;
            return 0;
        }
    if (array_grow(&total->events, total->n_events) < 0 || array_grow(&total->rates, total->n_events) < 0)
        return -ENOMEM;
    total->mixed |= total->n_rows > 0;
    total->events[total->n_events] = (struct total_event){.counter = counter};
    total->rates[total->n_events] = NAN;
    *ret = total->n_events++;
    return 0;
}

static int total_add_events(struct total *total, const struct row *row, const struct rates *rates)
{
    size_t at;

    for (size_t i = 0; i < row->n_counters; i++) {
        if (total_find_event(total, &row->counters[i], i, &at) < 0)
            return -ENOMEM;
        if (!rates || isnan(rates->events[i]))
            continue;
        struct total_event *event = &total->events[at];
        total->rates[at] = rates->events[i] + (event->known++ ? total->rates[at] : 0);
        event->known_rows = hash_mix(event->known_rows, row->id + 1); /* + 1: mixing in 0 would have no effect */
    }
    return 0;
}

static int total_add_pmu(struct total *total, const char *pmu)
{
    for (size_t i = 0; i < total->n_pmus; i++)
        if (total->pmus[i] == pmu)
            return 0;
    if (array_grow(&total->pmus, total->n_pmus) < 0)
        return -ENOMEM;
    total->pmus[total->n_pmus++] = pmu;
    return 0;
}

/* `rates` is NULL for a row of an event that could not be opened. */
static int total_add(struct total *total, const struct row *row, const struct rates *rates)
{
    if (total_add_events(total, row, rates) < 0 || total_add_pmu(total, row->pmu) < 0)
        return -ENOMEM;
    total->n_rows++;
    total->uneven |= row->uneven;
    total->mixed |= row->cgroup && !derive_the_same(total->metric_set, row->metric_set);
    if (rates) {
        total->times.enabled += rates->times.enabled;
        total->times.running += rates->times.running;
        total->times.busy += rates->times.busy;
        total->times.interval = rates->times.interval;
    }
    return row->cpu >= 0 ? cpuset_add(&total->cpus, (unsigned)row->cpu) : 0;
}

int totals_add(struct totals *totals, const struct row *row, const struct rates *rates)
{
    uint32_t hash = hash_block(totals->order, row), first;
    uint32_t found = totals_find(totals, hash, row, &first);

    if (found == TOTAL_END) {
        if (totals_append(totals, hash, first, row) < 0)
            return -ENOMEM;
        found = (uint32_t)totals->n - 1;
    }
    return total_add(&totals->items[found], row, rates);
}

/*
 * Finds or creates the metric set of a mixed total. A mixed total sums a cgroup's rows on several PMUs, so only
 * formulas that hold for any PMU apply to it.
 */
static int totals_derive(struct totals *totals, struct total *total)
{
    _cleanup_(freep) const char **names = calloc(total->n_events + 1, sizeof(names[0]));
    struct metric_set_events events = {.target = DERIVED_CGROUP, .pmu = no_pmu, .events = names, .n = total->n_events};

    if (!names)
        return -ENOMEM;
    for (size_t i = 0; i < total->n_events; i++)
        names[i] = total->events[i].counter->event;
    for (size_t i = 0; i < totals->n_metric_sets; i++)
        if (metric_set_is_of(totals->metric_sets[i], &events)) {
            total->metric_set = totals->metric_sets[i];
            return 0;
        }
    struct metric_set *metric_set = metric_set_new(&events);
    if (!metric_set || array_grow(&totals->metric_sets, totals->n_metric_sets) < 0) {
        metric_set_free(metric_set);
        return -ENOMEM;
    }
    total->metric_set = totals->metric_sets[totals->n_metric_sets++] = metric_set;
    return 0;
}

int totals_finish(struct totals *totals)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < totals->n; i++)
        if (totals->items[i].mixed)
            r = totals_derive(totals, &totals->items[i]);
    return r;
}

int totals_make(const struct baseline *baseline, const struct snapshot *snapshot, enum totals_order order,
                bool (*passes)(const void *userdata, const struct row *row), const void *userdata, struct totals *ret)
{
    int r = 0;

    *ret = (struct totals){.order = order, .seconds = rates_seconds(baseline, snapshot)};
    for (size_t i = 0; r == 0 && i < snapshot->n_rows; i++) {
        const struct row *row = snapshot->rows[i];
        _cleanup_(freep) double *events = calloc(row->n_counters + 1, sizeof(*events));
        struct rates rates;
        if (!events)
            return -ENOMEM;
        if (row->removed || (passes && !passes(userdata, row)))
            continue;
        if (row->state == ROW_UNAVAILABLE)
            r = totals_add(ret, row, NULL);
        else if (rates_row(baseline, snapshot, row, events, &rates) == 0)
            r = totals_add(ret, row, &rates);
    }
    return r < 0 ? r : totals_finish(ret);
}

double total_growth(const struct totals *totals, const struct total *total, size_t event)
{
    return total->rates[event] * totals->seconds;
}

double total_metric(const struct total *total, size_t metric)
{
    uint64_t known_rows = 0;
    size_t n = 0;

    for (size_t i = 0; i < total->n_events; i++) {
        if (!metric_set_uses_event(total->metric_set, metric, i))
            continue;
        /* The busy time of a total includes all rows. */
        if (metric_set_uses_busy_time(total->metric_set, metric) && total->events[i].known != total->n_rows)
            return NAN;
        if (n++ && (total->uneven || total->events[i].known_rows != known_rows))
            return NAN;
        known_rows = total->events[i].known_rows;
    }
    return metric_set_value(total->metric_set, metric, total->rates, &total->times);
}

double total_share(const struct total *total)
{
    return total->times.enabled > 0 ? total->times.running / total->times.enabled : NAN;
}
