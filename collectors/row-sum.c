/* SPDX-License-Identifier: Apache-2.0 */
/* The sums that a row shows: see row-sum.h. */
#include "collectors/row-sum.h"

void row_sum_init(struct row_sum *sum, size_t n)
{
    memset(sum, 0, offsetof(struct row_sum, counters) + n * sizeof(sum->counters[0]));
}

/*
 * Nothing is known where no group ran and some were enabled. A CPU that went away says nothing while others are there.
 * Where nothing happened at all the state stays what it was.
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
    /* A part of the CPUs of a row may be missing. */
    bool is_explained = row->state == ROW_STARVED || (row->state == ROW_MULTIPLEXED && sum->error);
    row->cause = is_explained ? opened_group_explain(sum->error) : NULL;
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
