/* SPDX-License-Identifier: Apache-2.0 */
/* Honest totals of a multiplexed group: see scale.h. */
#include "perf/scale.h"

struct scale *scale_new(size_t n)
{
    struct scale *scale = calloc(1, sizeof(*scale) + n * sizeof(scale->counters[0]));

    if (scale)
        scale->n = (uint8_t)n;
    return scale;
}

/* A counter may wrap, so a step of 2^63 or more is taken for a step back. */
static bool went_backwards(const struct scale *scale, uint64_t enabled, uint64_t running, const uint64_t *values)
{
    if (enabled < scale->last.enabled || running < scale->last.running)
        return true;
    for (size_t i = 0; i < scale->n; i++)
        if (values[i] - scale->counters[i].baseline > INT64_MAX)
            return true;
    return false;
}

static void counter_add(struct scale_counter *counter, uint64_t value, uint64_t enabled, uint64_t running)
{
    uint64_t delta = value - counter->baseline;
    struct fixed scaled = {.whole = delta};

    if (running < enabled)
        scaled = muldiv(delta, enabled, running);
    counter->total = fixed_add(counter->total, scaled);
    counter->raw += delta;
    counter->baseline = value;
}

int scale_add(struct scale *scale, uint64_t enabled, uint64_t running, const uint64_t *values)
{
    running = MIN(running, enabled); /* else the time that it cannot have run is missing from the next reading */
    if (went_backwards(scale, enabled, running, values))
        return -ESTALE;
    uint64_t denabled = enabled - scale->baseline.enabled, drunning = running - scale->baseline.running;

    scale->last = (struct scale_times){enabled, running};
    if (denabled == 0 && drunning == 0)
        return 0;
    if (drunning == 0) {
        scale->state = SCALE_STARVED;
        return 0;
    }
    for (size_t i = 0; i < scale->n; i++)
        counter_add(&scale->counters[i], values[i], denabled, drunning);
    scale->baseline = scale->last;
    scale->state = drunning < denabled ? SCALE_MULTIPLEXED : SCALE_COUNTING;
    scale->ran = true;
    return 0;
}

void scale_reopen(struct scale *scale)
{
    scale->before.enabled += scale->last.enabled;
    scale->before.running += scale->last.running;
    scale->last = scale->baseline = (struct scale_times){0, 0};
    for (size_t i = 0; i < scale->n; i++)
        scale->counters[i].baseline = 0;
}

struct scale_times scale_times(const struct scale *scale)
{
    return (struct scale_times){
        .enabled = scale->before.enabled + scale->last.enabled,
        .running = scale->before.running + scale->last.running,
    };
}
