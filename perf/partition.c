/* SPDX-License-Identifier: Apache-2.0 */
/* How a configured group fits a PMU: see partition.h. */
#include "perf/partition.h"

#include "base/cleanup.h"

struct partition_opening {
    struct sys *sys;
    const struct attr *attrs;
    const struct group_target *target;
    uint64_t rest; /* events that are in no group yet, and may open */
};

void partition_done(struct partition *partition)
{
    for (size_t i = 0; i < partition->n_groups; i++)
        group_free(partition->groups[i].group);
    free(partition->groups);
    *partition = (struct partition){0};
}

/* Opens a group of the events in opening->rest; `errors` are by event. */
static int open_rest(const struct partition_opening *opening, bool whole, int *errors, struct group **ret)
{
    struct attr attrs[GROUP_MEMBERS_MAX];
    int in_order[GROUP_MEMBERS_MAX];
    size_t n = 0;

    EVENTS_FOREACH (event, opening->rest)
        attrs[n++] = opening->attrs[event];
    int r = group_open_many(opening->sys, attrs, n, whole, opening->target, in_order, ret);
    n = 0;
    EVENTS_FOREACH (event, opening->rest)
        errors[event] = r < 0 ? r : in_order[n++];
    return r;
}

/*
 * Opens the first event that can lead, and beside it all that join. An event that does not join may not exist or may
 * not fit: it is left for the next group, where its error as a leader distinguishes the two.
 */
static int open_next_group(struct partition_opening *opening, int *errors, struct partition_group *group)
{
    int found[GROUP_MEMBERS_MAX];
    int r = open_rest(opening, false, found, &group->group);

    if (r < 0)
        return r;
    EVENTS_FOREACH (event, opening->rest) {
        if (found[event] == 0)
            group->events |= event_bit(event);
        else if (group->events)
            continue;
        errors[event] = found[event];
        opening->rest &= ~event_bit(event);
    }
    return 0;
}

/* Enables a group that opened, and adds it. One that cannot be enabled is closed, and its members have the error. */
static void partition_add_group(const struct partition_opening *opening, struct partition *partition,
                                const struct partition_group *group)
{
    int r = opening->target->paused ? 0 : group_enable(group->group);

    if (r == 0) {
        partition->groups[partition->n_groups++] = *group;
        return;
    }
    EVENTS_FOREACH (event, group->events)
        partition->errors[event] = r;
    group_free(group->group);
}

static int open_weak(struct partition_opening *opening, struct partition *partition)
{
    while (opening->rest) {
        struct partition_group group = {0};
        int r = array_grow(&partition->groups, partition->n_groups);
        if (r < 0)
            return r;
        r = open_next_group(opening, partition->errors, &group);
        if (r < 0)
            return r;
        if (group.group)
            partition_add_group(opening, partition, &group);
    }
    return 0;
}

/* Whether the kernel refused the event only because of the others in its group, which take all counters. */
static bool opens_alone(const struct partition_opening *opening, size_t event, int error)
{
    struct group *group;

    if ((error != -EINVAL && error != -ENOSPC) ||
        group_open(opening->sys, &opening->attrs[event], opening->target, &group) < 0)
        return false;
    group_free(group);
    return true;
}

static int open_strict(struct partition_opening *opening, struct partition *partition)
{
    struct partition_group group = {.events = opening->rest};
    int r = array_grow(&partition->groups, 0);

    if (r < 0)
        return r;
    partition->culprit = (size_t)__builtin_ctzll(opening->rest);
    r = open_rest(opening, true, partition->errors, &group.group);
    EVENTS_FOREACH (event, opening->rest)
        if (r == 0 && partition->errors[event] < 0) {
            partition->culprit = event;
            r = partition->errors[event];
        }
    if (r == 0)
        partition_add_group(opening, partition, &group);
    else if (opens_alone(opening, partition->culprit, r))
        partition->fits = event_count(opening->rest & (event_bit(partition->culprit) - 1));
    EVENTS_FOREACH (event, r < 0 ? opening->rest : 0)
        partition->errors[event] = r;
    return 0;
}

int partition_open(struct sys *sys, const struct attr *attrs, uint64_t events, bool strict,
                   const struct group_target *target, struct partition *ret)
{
    struct partition_opening opening = {.sys = sys, .attrs = attrs, .target = target, .rest = events};
    _cleanup_(partition_done) struct partition partition = {0};

    if (!events)
        return -EINVAL;
    int r = strict ? open_strict(&opening, &partition) : open_weak(&opening, &partition);
    if (r < 0)
        return r;
    *ret = partition;
    partition = (struct partition){0};
    return 0;
}
