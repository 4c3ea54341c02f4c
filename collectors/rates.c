/* SPDX-License-Identifier: Apache-2.0 */
/* Rates and ratios between two readings of a snapshot: see rates.h. */
#include "collectors/rates.h"

#include <math.h>

#include "base/cleanup.h"
#include "base/number.h"

struct past_row {
    uint64_t id;
    uint64_t enabled_ns, running_ns;
    size_t first; /* of its counters */
    size_t n;
    bool unknown, absent; /* unknown: the group was starved, or its collector failed */
};

struct past_counter {
    uint64_t value;
    bool known;
};

struct baseline {
    uint64_t monotonic_ns, pauses;
    struct past_row *rows; /* ascending by id, as a snapshot has them */
    size_t n_rows;
    struct past_counter *counters;
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

static void baseline_add_row(struct baseline *baseline, const struct snapshot *snapshot, const struct row *row,
                             size_t *first)
{
    baseline->rows[baseline->n_rows++] = (struct past_row){
        .id = row->id,
        .enabled_ns = row->enabled_ns,
        .running_ns = row->running_ns,
        .first = *first,
        .n = row->n_counters,
        .unknown = row->state == ROW_STARVED || snapshot_row_failed(snapshot, row),
        .absent = row->absent,
    };
    for (size_t i = 0; i < row->n_counters; i++)
        baseline->counters[(*first)++] = (struct past_counter){
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

double rates_seconds(const struct baseline *baseline, const struct snapshot *snapshot)
{
    return (double)(snapshot->monotonic_ns - baseline->monotonic_ns) / (double)NSEC_PER_SEC;
}

/* The growth of the counter in its unit; NAN where it fell: then the growth is not known. */
static double counter_growth(const struct counter *now, uint64_t then)
{
    if (now->decimals == SERIES_REAL) {
        double value, before;
        memcpy(&value, &now->value, sizeof(value));
        memcpy(&before, &then, sizeof(before));
        return value >= before ? value - before : NAN;
    }
    if (now->value < then)
        return NAN;
    return (double)(now->value - then) / (double)number_power_of_ten(now->decimals);
}

/* How long the group was enabled and running since the baseline; NAN where that is not known. */
static struct derivation_times rates_times(const struct past_row *then, const struct row *row)
{
    struct derivation_times times = {NAN, NAN};

    if (row->enabled_ns >= then->enabled_ns && row->running_ns >= then->running_ns) {
        uint64_t enabled = row->enabled_ns - then->enabled_ns, running = row->running_ns - then->running_ns;
        times.enabled = (double)enabled / (double)NSEC_PER_SEC;
        times.running = (double)MIN(running, enabled) / (double)NSEC_PER_SEC;
    }
    return times;
}

static void rates_add_ratios(struct rates *rates)
{
    const struct derivation *derivation = rates->row->derivation;

    for (size_t i = 0; i < derivation_count(derivation); i++) {
        if (rates->row->uneven && derivation_compares_events(derivation, i))
            continue;
        double value = derivation_value(derivation, i, rates->events, &rates->times);
        if (!isnan(value))
            rates->ratios[rates->n_ratios++] = (struct ratio){derivation_metric(derivation, i)->name, value};
    }
}

static void rates_compute_events(const struct past_counter *then, const struct row *row, bool unknown, double seconds,
                                 double *events)
{
    for (size_t i = 0; i < row->n_counters; i++) {
        const struct counter *now = &row->counters[i];
        events[i] = NAN;
        if (!unknown && now->known && then[i].known && seconds > 0)
            events[i] = counter_growth(now, then[i].value) / seconds;
    }
}

/* Whether nothing was counted for a part of the interval. */
static bool was_paused(const struct baseline *baseline, const struct snapshot *snapshot)
{
    return baseline->pauses != snapshot->pauses || snapshot->pauses % 2 != 0;
}

int rates_row(const struct baseline *baseline, const struct snapshot *snapshot, const struct row *row, double *events,
              struct rates *ret)
{
    const struct past_row *then =
        bsearch(&row->id, baseline->rows, baseline->n_rows, sizeof(baseline->rows[0]), compare_id);

    if (!then || then->absent || then->n != row->n_counters || row->absent || row->state == ROW_UNAVAILABLE)
        return -ENODATA;
    /* Totals stand still while a group is starved and then catch up at once: neither is a rate of this interval. */
    bool failed = snapshot_row_failed(snapshot, row);
    bool unknown = then->unknown || failed || row->state == ROW_STARVED || was_paused(baseline, snapshot);
    struct rates rates = {.row = row, .events = events, .times = {NAN, NAN}};
    rates_compute_events(baseline->counters + then->first, row, unknown, rates_seconds(baseline, snapshot), events);
    if (!failed)
        rates.times = rates_times(then, row);
    rates_add_ratios(&rates);
    *ret = rates;
    return 0;
}
