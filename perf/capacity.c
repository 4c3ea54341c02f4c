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

static int try_event(struct sys *sys, const struct pmu *pmu, uint64_t config, unsigned *ret)
{
    struct attr attr = {.kernel = {.type = PERF_TYPE_HARDWARE, .config = config}, .pmu = pmu, .scale = 1.0, .unit = ""};
    struct group_target target = {.pid = -1, .cpu = cpuset_next(&pmu->cpus, -1)};
    _cleanup_(group_freep) struct group *group = NULL;
    int r = group_open(sys, &attr, &target, &group);

    if (r < 0)
        return r;
    while (r == 0)
        r = group_add(group, &attr);
    if (r != -EINVAL && r != -ENOSPC)
        return r == -E2BIG ? -ENODATA : r;
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
