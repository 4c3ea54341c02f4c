/* SPDX-License-Identifier: Apache-2.0 */
/* How many events a PMU counts at once: see capacity.h. */
#include "perf/capacity.h"

#include "base/cleanup.h"
#include "perf/group.h"

/* Events that any counter takes, the most common first; cycles may have a counter of their own beside the others. */
static const uint64_t candidates[] = {
    PERF_COUNT_HW_BRANCH_MISSES,
    PERF_COUNT_HW_INSTRUCTIONS,
    PERF_COUNT_HW_CPU_CYCLES,
};

DEFINE_CLEANUP(struct group *, group_free);

/* As many of it as a group can have: those that the PMU has a counter for open. */
static int try_event(struct sys *sys, const struct pmu *pmu, uint64_t config, unsigned *ret)
{
    struct attr attr = {.kernel = {.type = PERF_TYPE_HARDWARE, .config = config}, .pmu = pmu, .scale = 1.0, .unit = ""};
    struct group_target target = {.pid = -1, .cpu = cpuset_next(&pmu->cpus, -1)};
    _cleanup_(group_freep) struct group *group = NULL;
    struct attr attrs[GROUP_MEMBERS_MAX];
    int errors[GROUP_MEMBERS_MAX];

    for (size_t i = 0; i < GROUP_MEMBERS_MAX; i++)
        attrs[i] = attr;
    int r = group_open_many(sys, attrs, GROUP_MEMBERS_MAX, false, &target, errors, &group);
    if (r < 0)
        return r;
    if (!group)
        return errors[0];
    r = errors[GROUP_MEMBERS_MAX - 1];
    if (r != -EINVAL && r != -ENOSPC)
        return r == 0 ? -ENODATA : r;
    *ret = (unsigned)group_size(group);
    return 0;
}

int capacity_probe(struct sys *sys, const struct pmu *pmu, unsigned *ret_counters)
{
    if (pmu->absent || pmu->scope != PMU_CORE || cpuset_count(&pmu->cpus) == 0)
        return -ENODATA;
    for (size_t i = 0; i < ARRAY_SIZE(candidates); i++) {
        int r = try_event(sys, pmu, candidates[i], ret_counters);
        if (r != -ENOENT && r != -EOPNOTSUPP)
            return r;
    }
    return -ENODATA;
}
