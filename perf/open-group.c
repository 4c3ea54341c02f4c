/* SPDX-License-Identifier: Apache-2.0 */
#include "perf/open-group.h"

#include "base/cleanup.h"

#define N_GROUP_ACTIVITIES 6

/* --- Totals --- */

struct scale *scale_new(size_t n)
{
    struct scale *scale = calloc(1, sizeof(*scale) + n * sizeof(scale->counters[0]));

    if (scale)
        scale->n = (uint8_t)n;
    return scale;
}

/* Since a counter may wrap, only a step of 2^63 or more counts as a step back. */
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
    running = MIN(running, enabled); /* else the excess would be missing from the running time of the next reading */
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

/* --- Open group --- */

/* Seconds for which a pinned group that found no counter is left alone; doubled each time it finds none again. */
#define BACKOFF_MIN_S 1
#define BACKOFF_MAX_S 64

DEFINE_CLEANUP(struct group *, group_free);

void open_group_done(struct open_group *open_group)
{
    group_free(open_group->group);
    free(open_group->scale);
    *open_group = (struct open_group){0};
}

/* Enabling the group clears the error state, and the kernel tries again to schedule it. */
static void enable_again(struct open_group *open_group, struct sys *sys)
{
    uint64_t now = sys_now(sys, CLOCK_MONOTONIC);

    if (open_group->paused || now < open_group->retry_ns)
        return;
    group_enable(open_group->group);
    open_group->backoff_s =
        open_group->backoff_s ? (uint8_t)MIN(2 * open_group->backoff_s, BACKOFF_MAX_S) : BACKOFF_MIN_S;
    open_group->retry_ns = now + open_group->backoff_s * NSEC_PER_SEC;
}

static enum group_activity activity_of(const struct scale *scale, bool idle)
{
    if (idle)
        return GROUP_IDLE;
    switch (scale->state) {
    case SCALE_MULTIPLEXED:
        return GROUP_MULTIPLEXED;
    case SCALE_STARVED:
        return GROUP_STARVED;
    case SCALE_COUNTING:
        break;
    }
    return GROUP_COUNTED;
}

/*
 * For a group that needs no counter, the enabled time is taken as its running time, whatever the kernel reports. Before
 * Linux 6.2 the software events of a cgroup are switched separately from its hardware events, and the time between the
 * two is missing from their running time: 28 % of it on a CPU that switches tasks all the time (6.1,
 * tests/vm/cgroup.sh). The counts are complete nevertheless.
 */
static int take_reading(struct open_group *open_group, const struct group_reading *reading)
{
    const struct scale_times *baseline = &open_group->scale->baseline;
    uint64_t running = group_always_runs(open_group->group) ? reading->enabled : reading->running;
    bool idle = reading->enabled == baseline->enabled && running == baseline->running;
    int r = scale_add(open_group->scale, reading->enabled, running, reading->values);

    if (r == 0)
        open_group->activity = activity_of(open_group->scale, idle);
    return r;
}

int open_group_read(struct open_group *open_group, struct sys *sys, struct group_reading *ret)
{
    if (!open_group->group)
        return open_group->error;
    open_group->error = group_read(open_group->group, ret);
    if (open_group->error == 0)
        open_group->error = take_reading(open_group, ret);
    if (open_group->error == 0 && !(open_group->activity == GROUP_IDLE && open_group->backoff_s)) {
        open_group->backoff_s = 0;
        return 0;
    }
    open_group->activity = open_group->error == -EBADMSG || open_group->error == -ESTALE ? GROUP_STALE : GROUP_STARVED;
    if (open_group->error == -ENODATA)
        enable_again(open_group, sys);
    else if (open_group->error == 0)
        open_group->error = -ENODATA; /* enabled again, but no task of the cgroup has run on the CPU since then */
    return open_group->error;
}

/* A group that cannot be enabled would look as if it counted, so it is closed and reopened later. */
static void give_up_group(struct open_group *open_group, int error)
{
    struct group_reading reading;

    if (group_read(open_group->group, &reading) == 0)
        take_reading(open_group, &reading);
    open_group_close(open_group);
    open_group->error = error;
    open_group->activity = GROUP_STALE;
}

int open_group_pause(struct open_group *open_group, bool paused)
{
    open_group->paused = paused;
    if (!open_group->group)
        return 0;
    int r = paused ? group_disable(open_group->group) : group_enable(open_group->group);
    if (r < 0 && !paused)
        give_up_group(open_group, r);
    return r;
}

void open_group_close(struct open_group *open_group)
{
    if (!open_group->group)
        return;
    open_group->group = group_free(open_group->group);
    scale_reopen(open_group->scale);
}

void open_group_leave(struct open_group *open_group, struct sys *sys, bool offline)
{
    struct group_reading reading;

    if (!offline && open_group->activity != GROUP_STALE)
        open_group_read(open_group, sys, &reading);
    open_group_close(open_group);
    open_group->error = -ENODEV;
    open_group->activity = GROUP_OFFLINE;
}

int open_group_reopen(struct open_group *open_group, struct sys *sys, const struct attr *attrs,
                      const struct group_target *target)
{
    _cleanup_(group_freep) struct group *group = NULL;
    int errors[GROUP_MEMBERS_MAX];
    int r = group_open_many(sys, attrs, open_group->scale->n, true, target, errors, &group);

    for (size_t i = 0; r == 0 && i < open_group->scale->n; i++)
        r = errors[i];
    if (r == 0 && !target->paused)
        r = group_enable(group);
    open_group->paused = target->paused;
    open_group->backoff_s = 0;
    open_group->error = r;
    open_group->activity = r == 0 ? GROUP_IDLE : r == -ENODEV ? GROUP_OFFLINE : GROUP_STARVED;
    if (r == 0)
        open_group->group = steal(group);
    return r;
}

void open_group_replace(struct open_group *open_group, struct group *group)
{
    open_group_close(open_group);
    open_group->group = group;
    open_group->activity = GROUP_IDLE;
    open_group->error = 0;
    open_group->backoff_s = 0;
}

/* Why a group is starved, depending on the error of the last reading. */
static const struct {
    int error;
    const char *cause;
} starved_causes[] = {
    {0, "it has not run since the last reading: other groups or programs hold the counters that it needs"},
    {-ENODATA, "it is pinned and found no counter, because something else holds it; perfcountd enables it again from "
               "time to time"},
    {-EBADMSG, "its CPU went offline; perfcountd will reopen it"},
    {-ESTALE, "its CPU went offline; perfcountd will reopen it"},
};

const char *open_group_explain(int error)
{
    for (size_t i = 0; i < ARRAY_SIZE(starved_causes); i++)
        if (starved_causes[i].error == error)
            return starved_causes[i].cause;
    return "the kernel refused to open or to read it";
}
