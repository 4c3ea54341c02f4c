/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The `pmu` collector: every configured group on the PMUs that count for several CPUs at once (uncore, DSU, RAPL). A
 * PMU is read on the CPUs in its cpumask. A PMU without a cpumask is read once, on the lowest online CPU.
 */
#include "base/cleanup.h"
#include "collectors/group-counts.h"

static int pmu_add_target(struct targets *targets, const struct pmu *pmu, int cpu, bool moved)
{
    return targets_add_cpu(targets, &(struct target){.pmu = pmu, .pid = -1, .moved = moved}, cpu);
}

/* Finds the CPUs on which the PMU is read now. The result is empty if all CPUs in the PMU's cpumask are offline. */
static int pmu_find_cpus(const struct machine *machine, const struct pmu *pmu, struct cpuset *ret)
{
    int r = cpuset_copy(&pmu->cpus, ret);

    if (r < 0)
        return r;
    cpuset_intersect(ret, &machine->online);
    int first = cpuset_next(ret, -1);
    for (int cpu = first; cpu >= 0 && pmu->scope != PMU_SYSTEM; cpu = cpuset_next(ret, cpu))
        if (cpu != first)
            cpuset_remove(ret, (unsigned)cpu);
    return 0;
}

/*
 * Adds a target for each CPU on which the PMU is read now. If there is none, adds a target without a CPU, so that the
 * PMU is reported. With `again`, also adds the remaining CPUs. When a CPU goes offline, the kernel moves the cpumask to
 * another CPU, and may move the mask back later; the totals of the first CPU then continue. A PMU without a cpumask is
 * treated the same way, because the lowest online CPU may change.
 */
static int pmu_add_targets(const struct machine *machine, const struct pmu *pmu, bool again, struct targets *targets)
{
    _cleanup_(cpuset_done) struct cpuset now = {0}, others = {0};
    int r = pmu_find_cpus(machine, pmu, &now);

    if (r == 0 && again)
        r = cpuset_copy(&machine->possible, &others);
    if (r < 0)
        return r;
    cpuset_subtract(&others, &now);
    if (cpuset_count(&now) == 0)
        r = pmu_add_target(targets, pmu, -1, false);
    for (int cpu = cpuset_next(&now, -1); cpu >= 0 && r == 0; cpu = cpuset_next(&now, cpu))
        r = pmu_add_target(targets, pmu, cpu, false);
    for (int cpu = cpuset_next(&others, -1); cpu >= 0 && r == 0; cpu = cpuset_next(&others, cpu))
        r = pmu_add_target(targets, pmu, cpu, true);
    return r;
}

static int pmu_list_targets(const struct machine *machine, bool again, struct targets *targets)
{
    int r = 0;

    for (size_t i = 0; i < machine->n_pmus && r == 0; i++)
        if (!pmu_is_per_cpu(machine->pmus[i]))
            r = pmu_add_targets(machine, machine->pmus[i], again, targets);
    return r;
}

static int pmu_explain_nowhere(const struct collector_env *env, const struct config_group *group,
                               const struct config_event *event, struct error *error)
{
    if (group->preset) /* a preset's events may be for PMUs that this machine lacks */
        return 0;
    int r = attr_check(env->sys, env->machine, &event->event, error);
    return r < 0 ? r : error_set(error, -EINVAL, "this event is counted on each CPU: it belongs to collectors.cpu");
}

static int pmu_open(const struct collector_env *env, void *previous, struct opened *ret, struct error *error)
{
    _cleanup_(targets_done) struct targets targets = {.explain_nowhere = pmu_explain_nowhere};

    if (pmu_list_targets(env->machine, previous != NULL, &targets) < 0) {
        ret->state = previous;
        return error_oom(error);
    }
    return group_set_open(env, &env->config->pmu.groups, &targets, previous, ret, error);
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
