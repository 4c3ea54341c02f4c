/* SPDX-License-Identifier: Apache-2.0 */
/* The table of derived metrics: see derived.h. */
#include "derived/derived.h"

#define EVERYWHERE (DERIVED_CPU | DERIVED_CGROUP)

static const struct derived_metric metrics[] = {
    {
        .name = "ipc",
        .unit = "ratio",
        .help = "Instructions per cycle.",
        .targets = EVERYWHERE,
        .formulas = {{"instructions / cycles", NULL, "perf stat (tools/perf/util/stat-shadow.c)", true}},
    },
    {
        .name = "ipc_user",
        .unit = "ratio",
        .help = "Instructions per cycle in user mode.",
        .targets = EVERYWHERE,
        .formulas = {{"instructions_user / cycles_user", NULL, "perf stat (tools/perf/util/stat-shadow.c)", true}},
    },
    {
        .name = "ipc_kernel",
        .unit = "ratio",
        .help = "Instructions per cycle in kernel mode.",
        .targets = EVERYWHERE,
        .formulas = {{"instructions_kernel / cycles_kernel", NULL, "perf stat (tools/perf/util/stat-shadow.c)", true}},
    },
    {
        .name = "cache_miss_ratio",
        .unit = "ratio",
        .help = "Share of the cache references that missed.",
        .targets = EVERYWHERE,
        .formulas = {{"cache_misses / cache_references", NULL, "perf stat (tools/perf/util/stat-shadow.c)", false}},
    },
    {
        .name = "branch_miss_ratio",
        .unit = "ratio",
        .help = "Share of the branches that were mispredicted.",
        .targets = EVERYWHERE,
        .formulas = {{"branch_misses / branches", NULL, "perf stat (tools/perf/util/stat-shadow.c)", false}},
    },
    {
        .name = "running_ratio",
        .unit = "ratio",
        .help = "Share of the time that the group was counted; below 1, its counts are estimates.",
        .targets = DERIVED_CPU | DERIVED_PMU | DERIVED_CGROUP,
        .formulas = {{"running_time / enabled_time", NULL, "perf_event_open(2)", true}},
    },
    {
        .name = "cpu_utilization",
        .unit = "cpus",
        .help = "CPUs that the cgroup's tasks used.",
        .targets = DERIVED_CGROUP,
        .formulas = {{"task_clock", NULL, "perf stat (tools/perf/util/stat-shadow.c)", true}},
    },
};

size_t derived_count(void)
{
    return ARRAY_SIZE(metrics);
}

const struct derived_metric *derived_at(size_t i)
{
    return i < ARRAY_SIZE(metrics) ? &metrics[i] : NULL;
}

const struct derived_metric *derived_find(const char *name)
{
    for (size_t i = 0; i < ARRAY_SIZE(metrics); i++)
        if (str_equal(metrics[i].name, name))
            return &metrics[i];
    return NULL;
}

/* Two names of one event: INST_RETIRED and CPU_CYCLES of Arm's PMUv3 are what perf's generic names count there. */
static const struct {
    const char *name, *event;
} spellings[] = {
    {"cycles", "cpu_cycles"},
    {"cycles_user", "cpu_cycles_user"},
    {"cycles_kernel", "cpu_cycles_kernel"},
    {"instructions", "inst_retired"},
    {"instructions_user", "inst_retired_user"},
    {"instructions_kernel", "inst_retired_kernel"},
};

bool derived_names_event(const char *name, const char *event)
{
    if (str_equal(name, event))
        return true;
    for (size_t i = 0; i < ARRAY_SIZE(spellings); i++)
        if (str_equal(spellings[i].name, name) && str_equal(spellings[i].event, event))
            return true;
    return false;
}
