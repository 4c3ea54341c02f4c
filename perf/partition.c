/* SPDX-License-Identifier: Apache-2.0 */
/* How a configured group fits a PMU: see partition.h. */
#include "perf/partition.h"

#include "base/cleanup.h"

struct opening {
    struct sys *sys;
    const struct attr *attrs;
    size_t n;
    const struct group_target *target;
    bool placed[GROUP_MEMBERS_MAX]; /* in a part, or found not to open */
};

void partition_done(struct partition *partition)
{
    for (size_t i = 0; i < partition->n_groups; i++)
        group_free(partition->groups[i].group);
    free(partition->groups);
    *partition = (struct partition){0};
}

static void part_add(struct opening *opening, struct partition_group *part, size_t member)
{
    part->members[part->n++] = member;
    opening->placed[member] = true;
}

/*
 * Opens the first member that can lead, and beside it whatever joins. A member that does not join may be missing or may
 * not fit: it is left for the next part, where it shows as a leader which of the two it is.
 */
static int fill_part(struct opening *opening, int *errors, struct partition_group *part)
{
    size_t rest[GROUP_MEMBERS_MAX], n = 0;
    struct attr attrs[GROUP_MEMBERS_MAX] = {0};
    int found[GROUP_MEMBERS_MAX];

    for (size_t i = 0; i < opening->n; i++)
        if (!opening->placed[i]) {
            attrs[n] = opening->attrs[i];
            rest[n++] = i;
        }
    int r = group_open_many(opening->sys, attrs, n, false, opening->target, found, &part->group);
    for (size_t i = 0; r == 0 && i < n; i++) {
        if (found[i] == 0) {
            part_add(opening, part, rest[i]);
        } else if (part->n == 0) {
            opening->placed[rest[i]] = true;
        }
        if (part->n == 0 || found[i] == 0)
            errors[rest[i]] = found[i];
    }
    return r;
}

static bool all_placed(const struct opening *opening)
{
    for (size_t i = 0; i < opening->n; i++)
        if (!opening->placed[i])
            return false;
    return true;
}

static int start(const struct opening *opening, struct group *group)
{
    return opening->target->paused ? 0 : group_enable(group);
}

static int enable_part(const struct opening *opening, int *errors, struct partition_group *part)
{
    int r = start(opening, part->group);

    if (r < 0) {
        for (size_t i = 0; i < part->n; i++)
            errors[part->members[i]] = r;
        part->group = group_free(part->group);
    }
    return r;
}

static int open_weak(struct opening *opening, struct partition *partition)
{
    while (!all_placed(opening)) {
        struct partition_group part = {0};
        int r = array_grow(&partition->groups, partition->n_groups);
        if (r < 0)
            return r;
        r = fill_part(opening, partition->errors, &part);
        if (r < 0)
            return r;
        if (part.group && enable_part(opening, partition->errors, &part) == 0)
            partition->groups[partition->n_groups++] = part;
    }
    return 0;
}

static int open_whole(struct opening *opening, struct partition_group *part, size_t *ret_culprit)
{
    int errors[GROUP_MEMBERS_MAX];
    int r = group_open_many(opening->sys, opening->attrs, opening->n, true, opening->target, errors, &part->group);

    *ret_culprit = 0;
    if (r < 0)
        return r;
    for (size_t i = 0; i < opening->n; i++) {
        if (errors[i] < 0) {
            *ret_culprit = i;
            return errors[i];
        }
        part_add(opening, part, i);
    }
    return start(opening, part->group);
}

static int open_strict(struct opening *opening, struct partition *partition)
{
    struct partition_group part = {0};
    int r = array_grow(&partition->groups, 0);

    if (r < 0)
        return r;
    r = open_whole(opening, &part, &partition->culprit);
    if (r == 0) {
        partition->groups[partition->n_groups++] = part;
        return 0;
    }
    group_free(part.group);
    for (size_t i = 0; i < opening->n; i++)
        partition->errors[i] = r;
    return 0;
}

int partition_open(struct sys *sys, const struct attr *attrs, size_t n, bool strict, const struct group_target *target,
                   struct partition *ret)
{
    struct opening opening = {.sys = sys, .attrs = attrs, .n = n, .target = target};
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
