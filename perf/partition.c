/* SPDX-License-Identifier: Apache-2.0 */
/* How a configured group fits a PMU: see partition.h. */
#include "perf/partition.h"

#include "base/cleanup.h"

struct partition_opening {
    struct sys *sys;
    const struct attr *attrs;
    size_t n;
    const struct group_target *target;
    bool placed[GROUP_MEMBERS_MAX]; /* is in a group, or does not open */
};

void partition_done(struct partition *partition)
{
    for (size_t i = 0; i < partition->n_groups; i++)
        group_free(partition->groups[i].group);
    free(partition->groups);
    *partition = (struct partition){0};
}

static void partition_add_member(struct partition_opening *opening, struct partition_group *group, size_t member)
{
    group->members[group->n++] = member;
    opening->placed[member] = true;
}

/*
 * Opens the first event that can lead, and beside it all that join. An event that does not join may not exist or may
 * not fit: it is left for the next group, where its error as a leader distinguishes the two.
 */
static int open_next_group(struct partition_opening *opening, int *errors, struct partition_group *group)
{
    size_t rest[GROUP_MEMBERS_MAX], n = 0;
    struct attr attrs[GROUP_MEMBERS_MAX] = {0};
    int found[GROUP_MEMBERS_MAX];

    for (size_t i = 0; i < opening->n; i++)
        if (!opening->placed[i]) {
            attrs[n] = opening->attrs[i];
            rest[n++] = i;
        }
    int r = group_open_many(opening->sys, attrs, n, false, opening->target, found, &group->group);
    for (size_t i = 0; r == 0 && i < n; i++) {
        if (found[i] == 0) {
            partition_add_member(opening, group, rest[i]);
        } else if (group->n == 0) {
            opening->placed[rest[i]] = true;
        }
        if (group->n == 0 || found[i] == 0)
            errors[rest[i]] = found[i];
    }
    return r;
}

static bool all_placed(const struct partition_opening *opening)
{
    for (size_t i = 0; i < opening->n; i++)
        if (!opening->placed[i])
            return false;
    return true;
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
    for (size_t i = 0; i < group->n; i++)
        partition->errors[group->members[i]] = r;
    group_free(group->group);
}

static int open_weak(struct partition_opening *opening, struct partition *partition)
{
    while (!all_placed(opening)) {
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

static int open_strict(struct partition_opening *opening, struct partition *partition)
{
    struct partition_group group = {0};
    int errors[GROUP_MEMBERS_MAX];
    int r = array_grow(&partition->groups, 0);

    if (r < 0)
        return r;
    r = group_open_many(opening->sys, opening->attrs, opening->n, true, opening->target, errors, &group.group);
    for (size_t i = 0; r == 0 && i < opening->n; i++) {
        partition->culprit = errors[i] < 0 ? i : 0;
        r = errors[i];
        partition_add_member(opening, &group, i);
    }
    if (r == 0)
        partition_add_group(opening, partition, &group);
    for (size_t i = 0; r < 0 && i < opening->n; i++)
        partition->errors[i] = r;
    return 0;
}

int partition_open(struct sys *sys, const struct attr *attrs, size_t n, bool strict, const struct group_target *target,
                   struct partition *ret)
{
    struct partition_opening opening = {.sys = sys, .attrs = attrs, .n = n, .target = target};
    _cleanup_(partition_done) struct partition partition = {0};

    if (n == 0 || n > GROUP_MEMBERS_MAX)
        return -E2BIG;
    int r = strict ? open_strict(&opening, &partition) : open_weak(&opening, &partition);
    if (r < 0)
        return r;
    *ret = partition;
    partition = (struct partition){0};
    return 0;
}
