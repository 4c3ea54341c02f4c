/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The collector `pmu`: every configured group on the PMUs that count for several CPUs at once (uncore, DSU, RAPL). A
 * PMU is read on the CPUs of its cpumask. A PMU without a cpumask is read once, on the lowest CPU that is online.
 */
#include "base/cleanup.h"
#include "collectors/group-counts.h"

static int pmu_add_place(struct places *places, const struct pmu *pmu, int cpu, bool offline)
{
    return places_add(
        places, &(struct place){.kind = PLACE_PMU, .pmu = pmu, .target = {.pid = -1, .cpu = cpu}, .offline = offline});
}

/* Adds the places where the PMU is read now; at least one, so that a PMU whose CPUs are all offline is reported. */
static int pmu_add_current(const struct machine *machine, const struct pmu *pmu, struct places *places)
{
    _cleanup_(cpuset_done) struct cpuset cpus = {0};
    int r = cpuset_copy(&pmu->cpus, &cpus);

    if (r < 0)
        return r;
    cpuset_intersect(&cpus, &machine->online);
    int cpu = cpuset_next(&cpus, -1);
    do {
        r = pmu_add_place(places, pmu, cpu, false);
        cpu = cpuset_next(&cpus, cpu);
    } while (r == 0 && cpu >= 0 && pmu->scope == PMU_SYSTEM);
    return r;
}

static bool pmu_is_read_on(const struct places *places, size_t first, int cpu)
{
    for (size_t i = first; i < places->n; i++)
        if (places->items[i].target.cpu == cpu)
            return true;
    return false;
}

/*
 * Adds the places where the PMU is not read now; `first` is the index of the first place where it is. The kernel moves
 * the cpumask when a CPU goes offline, and may move it back. The totals of the first CPU then continue. The same holds
 * for the lowest CPU that is online.
 */
static int pmu_add_former(const struct machine *machine, const struct pmu *pmu, size_t first, struct places *places)
{
    int r = 0;

    for (int cpu = cpuset_next(&machine->possible, -1); r == 0 && cpu >= 0; cpu = cpuset_next(&machine->possible, cpu))
        if (!pmu_is_read_on(places, first, cpu))
            r = pmu_add_place(places, pmu, cpu, true);
    return r;
}

static int pmu_list_places(const struct machine *machine, bool again, struct places *places)
{
    int r = 0;

    for (size_t i = 0; i < machine->n_pmus && r == 0; i++) {
        const struct pmu *pmu = machine->pmus[i];
        if (pmu_is_per_cpu(pmu))
            continue;
        size_t first = places->n;
        r = pmu_add_current(machine, pmu, places);
        if (r == 0 && again)
            r = pmu_add_former(machine, pmu, first, places);
    }
    if (r == 0)
        r = places_add(places, &(struct place){.kind = PLACE_NO_PMU, .target = {.cpu = -1}, .list = places});
    return r;
}

static int pmu_open(const struct collector_env *env, void *previous, struct opened *ret, struct error *error)
{
    _cleanup_(places_done) struct places places = {0};

    if (pmu_list_places(env->machine, previous != NULL, &places) < 0) {
        ret->state = previous;
        return error_oom(error);
    }
    return group_set_open(env, &env->config->pmu.groups, &places, previous, ret, error);
}

const struct collector collector_pmu = {
    .name = "pmu",
    .enabled = offsetof(struct config, pmu.enabled),
    .has_groups = true,
    .open = pmu_open,
    .collect = group_set_collect,
    .pause = group_set_pause,
    .report = group_set_report,
    .close = group_set_close,
};
