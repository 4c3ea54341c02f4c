/* SPDX-License-Identifier: Apache-2.0 */
/* One perf group that a configured group became on a CPU: see opened-group.h. */
#include "collectors/opened-group.h"

#include "base/cleanup.h"

/* How long a pinned group that found no counter is left alone: doubled each time it finds none again. */
#define BACKOFF_MIN_S 1
#define BACKOFF_MAX_S 64

DEFINE_CLEANUP(struct group *, group_free);

void part_done(struct part *part)
{
    group_free(part->group);
    free(part->scale);
    *part = (struct part){0};
}

/* Enabling clears the error state, and the kernel tries to place the group once more. */
static void try_again(struct part *part, struct sys *sys)
{
    uint64_t now = sys->now(sys, CLOCK_MONOTONIC);

    if (part->paused || now < part->retry_ns)
        return;
    group_enable(part->group);
    part->backoff_s = part->backoff_s ? (uint8_t)MIN(2 * part->backoff_s, BACKOFF_MAX_S) : BACKOFF_MIN_S;
    part->retry_ns = now + part->backoff_s * NSEC_PER_SEC;
}

static enum part_news news_of(const struct scale *scale, bool idle)
{
    if (idle)
        return PART_IDLE;
    switch (scale->state) {
    case SCALE_MULTIPLEXED:
        return PART_MULTIPLEXED;
    case SCALE_STARVED:
        return PART_STARVED;
    case SCALE_COUNTING:
        break;
    }
    return PART_COUNTED;
}

static int take(struct part *part, const struct group_reading *reading)
{
    const struct scale_times *baseline = &part->scale->baseline;
    bool idle = reading->enabled == baseline->enabled && reading->running == baseline->running;
    int r = scale_add(part->scale, reading->enabled, reading->running, reading->values);

    if (r == 0)
        part->news = news_of(part->scale, idle);
    return r;
}

int part_read(struct part *part, struct sys *sys)
{
    struct group_reading reading;

    if (!part->group)
        return part->error;
    part->error = group_read(part->group, &reading);
    if (part->error == 0)
        part->error = take(part, &reading);
    if (part->error == 0) {
        part->backoff_s = 0;
        return 0;
    }
    part->news = part->error == -EBADMSG || part->error == -ESTALE ? PART_STALE : PART_STARVED;
    if (part->error == -ENODATA)
        try_again(part, sys);
    return part->error;
}

int part_pause(struct part *part, bool paused)
{
    part->paused = paused;
    if (!part->group)
        return 0;
    return paused ? group_disable(part->group) : group_enable(part->group);
}

void part_close(struct part *part)
{
    if (!part->group)
        return;
    part->group = group_free(part->group);
    scale_reopen(part->scale);
}

void part_park(struct part *part)
{
    part_close(part);
    part->error = -ENODEV;
    part->news = PART_AWAY;
}

int part_reopen(struct part *part, struct sys *sys, const struct attr *attrs, const struct group_target *target)
{
    _cleanup_(group_freep) struct group *group = NULL;
    int errors[GROUP_MEMBERS_MAX];
    int r = group_open_many(sys, attrs, part->scale->n, true, target, errors, &group);

    for (size_t i = 0; r == 0 && i < part->scale->n; i++)
        r = errors[i];
    if (r == 0 && !target->paused)
        r = group_enable(group);
    part->paused = target->paused;
    part->error = r;
    part->news = r == 0 ? PART_IDLE : r == -ENODEV ? PART_AWAY : PART_STARVED;
    if (r == 0)
        part->group = steal(group);
    return r;
}
