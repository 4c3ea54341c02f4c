/* SPDX-License-Identifier: Apache-2.0 */
/* One perf group that a configured group became on a target: see part.h. */
#include "collectors/part.h"

#include "base/cleanup.h"

/* How long a pinned group that found no counter is left alone: doubled each time it finds none again. */
#define BACKOFF_MIN_NS NSEC_PER_SEC
#define BACKOFF_MAX_NS (64 * NSEC_PER_SEC)

DEFINE_CLEANUP(struct group *, group_free);

void part_done(struct part *part, struct snapshot *snapshot)
{
    group_free(part->group);
    free(part->scale);
    free(part->members);
    if (part->row)
        snapshot_remove_row(snapshot, part->row);
    *part = (struct part){0};
}

static enum row_state row_state_of(const struct scale *scale)
{
    switch (scale->state) {
    case SCALE_MULTIPLEXED:
        return ROW_MULTIPLEXED;
    case SCALE_STARVED:
        return ROW_STARVED;
    case SCALE_COUNTING:
        break;
    }
    return ROW_COUNTING;
}

static void update_counter(struct counter *counter, const struct scale_counter *counted, bool known, bool visible)
{
    if (counter->decimals == SERIES_REAL)
        series_set_real(counter->series, fixed_real(counted->total) * counter->scale);
    else
        series_set(counter->series, counted->total.whole);
    counter->series->visible = visible;
    counter->value = counter->series->value;
    counter->raw = counted->raw;
    counter->known = known;
}

/* Of a group that was read, or could not be. */
static const struct {
    int error;
    const char *cause;
} causes[] = {
    {0, "it did not run since the reading before: other groups or programs hold the counters it needs"},
    {-ENODATA,
     "it is pinned and found no counter, because something else holds it; it is enabled again from time to time"},
    {-EBADMSG, "its CPU went away; it is opened anew"},
    {-ESTALE, "its CPU went away; it is opened anew"},
};

static const char *cause_of(int error)
{
    for (size_t i = 0; i < ARRAY_SIZE(causes); i++)
        if (causes[i].error == error)
            return causes[i].cause;
    return "the kernel refused to read it";
}

static void update_row(struct part *part)
{
    struct scale_times times = scale_times(part->scale);
    struct row *row = part->row;
    bool starved = part->scale->state == SCALE_STARVED;

    row->state = row_state_of(part->scale);
    row->cause = starved ? cause_of(0) : NULL;
    row->enabled_ns = times.enabled;
    row->running_ns = times.running;
    series_set(row->enabled, times.enabled);
    series_set(row->running, times.running);
    for (size_t i = 0; i < row->n_counters; i++)
        update_counter(&row->counters[i], &part->scale->counters[i], part->scale->ran || !starved, !starved);
}

static void hide_counters(struct row *row)
{
    for (size_t i = 0; i < row->n_counters; i++)
        row->counters[i].series->visible = false;
}

/* Enabling clears the error state, and the kernel tries to place the group once more. */
static void try_again(struct part *part, struct sys *sys)
{
    uint64_t now = sys->now(sys, CLOCK_MONOTONIC);

    if (now < part->retry_ns)
        return;
    group_enable(part->group);
    part->backoff_ns = part->backoff_ns ? MIN(2 * part->backoff_ns, BACKOFF_MAX_NS) : BACKOFF_MIN_NS;
    part->retry_ns = now + part->backoff_ns;
}

int part_collect(struct part *part, struct sys *sys)
{
    struct group_reading reading;

    if (!part->group)
        return part->error;
    part->error = group_read(part->group, &reading);
    if (part->error == 0)
        part->error = scale_add(part->scale, reading.enabled, reading.running, reading.values);
    if (part->error == 0) {
        part->backoff_ns = 0;
        update_row(part);
        return 0;
    }
    /* A group that cannot be read says nothing of now: its counters are left out, its times stay. */
    part->row->state = ROW_STARVED;
    part->row->cause = cause_of(part->error);
    hide_counters(part->row);
    if (part->error == -ENODATA)
        try_again(part, sys);
    return part->error;
}

bool part_is_stale(const struct part *part)
{
    return part->group && (part->error == -EBADMSG || part->error == -ESTALE);
}

void part_park(struct part *part)
{
    if (!part->group)
        return;
    part->group = group_free(part->group);
    part->error = -ENODEV;
    scale_reopen(part->scale);
    part->row->absent = true;
    part->row->enabled->visible = part->row->running->visible = false;
    hide_counters(part->row);
}

int part_reopen(struct part *part, struct sys *sys, const struct attr *attrs, const struct group_target *target)
{
    _cleanup_(group_freep) struct group *group = NULL;
    int r = group_open(sys, &attrs[0], target, &group);

    for (size_t i = 1; r == 0 && i < part->scale->n; i++)
        r = group_add(group, &attrs[i]);
    if (r == 0)
        r = group_enable(group);
    part->error = r;
    if (r < 0)
        return r;
    part->group = steal(group);
    part->row->absent = false;
    return 0;
}
