/* SPDX-License-Identifier: Apache-2.0 */
#include "collectors/targets.h"

#include <stdio.h>

#include "base/cleanup.h"
#include "perf/presets.h"

/* --- lists --- */

void targets_done(struct targets *targets)
{
    for (size_t i = 0; i < targets->n; i++)
        cpuset_done(&targets->items[i].cpus);
    free(targets->items);
    *targets = (struct targets){0};
}

/* Appends a target on `cpus`, and moves `cpus` into it. */
static int targets_add(struct targets *targets, const struct target *like, struct cpuset *cpus)
{
    int r = array_grow(&targets->items, targets->n);

    if (r < 0)
        return r;
    targets->items[targets->n] = *like;
    targets->items[targets->n++].cpus = *cpus;
    *cpus = (struct cpuset){0};
    return 0;
}

int targets_add_cpu(struct targets *targets, const struct target *like, int cpu)
{
    _cleanup_(cpuset_done) struct cpuset cpus = {0};
    int r = cpu < 0 ? 0 : cpuset_add(&cpus, (unsigned)cpu);

    return r < 0 ? r : targets_add(targets, like, &cpus);
}

static int cgroup_explain_nowhere(const struct collector_env *env, const struct config_group *group,
                                  const struct config_event *event, struct error *error)
{
    (void)group;
    return targets_explain_cpus(env, event, true, error);
}

int targets_add_cgroup(struct targets *targets, const struct collector_env *env, const struct target *like)
{
    _cleanup_(cpuset_done) struct cpuset cpus = {0};
    struct target target = *like;
    int r = cpuset_copy(&env->machine->possible, &cpus);

    target.summed = !env->config->cgroup.per_cpu;
    targets->explain_nowhere = cgroup_explain_nowhere;
    return r < 0 ? r : targets_add(targets, &target, &cpus);
}

bool target_is_offline(const struct target *target, const struct machine *machine, int cpu)
{
    return target->moved || (cpu >= 0 && !cpuset_has(&machine->online, (unsigned)cpu));
}

bool target_is_unreachable(const struct target *target)
{
    return (target->flags & PERF_FLAG_PID_CGROUP) && target->pid < 0;
}

/* --- PMU of an event --- */

/* Returns the first PMU that the event names, or NULL. */
static const struct pmu *named_pmu(const struct machine *machine, const struct event *event)
{
    for (size_t i = 0; i < machine->n_pmus; i++)
        if (attr_names_pmu(machine, event, machine->pmus[i]))
            return machine->pmus[i];
    return NULL;
}

/*
 * Finds the PMU that counts the event on the CPU. It is an error if this machine lacks the event, but not if the event
 * belongs to another CPU's PMU.
 */
static int find_on_cpu(const struct collector_env *env, const struct event *event, int cpu, const struct pmu **ret,
                       struct error *error)
{
    const struct pmu *pmu = attr_pmu(env->machine, event, (unsigned)cpu);

    if (!pmu && !named_pmu(env->machine, event)) {
        int r = attr_check(env->sys, env->machine, event, error);
        if (r < 0)
            return r;
    }
    *ret = pmu;
    return 0;
}

static int find_on_pmu(const struct collector_env *env, const struct event *event, const struct pmu *pmu, int cpu,
                       const struct pmu **ret, struct error *error)
{
    bool is_own = attr_names_pmu(env->machine, event, pmu);

    if (is_own && cpu < 0)
        return error_set(error, -ENODEV, "no CPU in the cpumask of PMU \"%s\" is online", pmu->name);
    *ret = is_own ? pmu : NULL;
    return 0;
}

/* --- events on a CPU --- */

/*
 * Returns whether the event is meant for this CPU or PMU; only presets restrict this. On a CPU, a preset's event must
 * be in the variant for the CPU's core PMU, and an event given by name must be listed in the PMU's sysfs directory.
 */
static bool is_meant(const struct target_events *events, const struct collector_env *env,
                     const struct config_event *event, int cpu)
{
    const struct preset *preset = events->group->preset;

    if (!preset)
        return true;
    if (events->pmu)
        return preset_event_is_listed(&event->event, events->pmu);
    const struct pmu *core = machine_core_pmu(env->machine, (unsigned)cpu);
    return (event->variants >> preset_choose(preset, core) & 1) && preset_event_is_listed(&event->event, core);
}

/*
 * Records that the i-th event is refused. `pmu` is the PMU that counts the event, or NULL. A missing PMU is not
 * expected to appear later, but an unreadable file may become readable.
 */
static int refuse(struct target_events *events, const struct collector_env *env, size_t i, const struct pmu *pmu,
                  int error, const char *message)
{
    const char *named = events->group->events[i].event.pmu;
    const struct pmu *missing = !pmu && named ? machine_find_pmu(env->machine, named) : pmu;
    struct refusal refusal = {.event = i,
                              .pmu = pmu     ? pmu->name
                                     : named ? named
                                             : "",
                              .message = intern_text(&env->snapshot->texts, message),
                              .reason = reason_label(missing, error),
                              .error = error,
                              .span = error == -ENODEV ? REASON_LASTS : reason_span(error)};

    if (!refusal.message)
        return -ENOMEM;
    events->refusals[events->n_refusals++] = refusal;
    return 0;
}

static int find_event(struct target_events *events, const struct collector_env *env, int cpu, size_t i)
{
    const struct event *event = &events->group->events[i].event;
    const struct pmu *pmu = NULL;
    struct error error;
    int r = 0;

    if (!is_meant(events, env, &events->group->events[i], cpu))
        return 0;
    r = events->pmu ? find_on_pmu(env, event, events->pmu, cpu, &pmu, &error)
                    : find_on_cpu(env, event, cpu, &pmu, &error);
    if (r == 0 && !pmu)
        return 0;
    /* Reuses the attr of another CPU, so that the files of a tracepoint are read only once. */
    if (r == 0 && events->attrs[i].pmu != pmu)
        r = attr_build(env->sys, env->machine, event, pmu, &events->attrs[i], &error);
    if (r == -ENOMEM)
        return r;
    if (r < 0)
        return refuse(events, env, i, pmu, r, error.message);
    events->mask |= event_bit(i);
    return 0;
}

void target_events_init(struct target_events *events, const struct config_group *group, const struct pmu *pmu)
{
    events->group = group;
    events->pmu = pmu;
    events->mask = 0;
    events->n_refusals = 0;
    for (size_t i = 0; i < group->n_events; i++)
        events->attrs[i].pmu = NULL;
}

int target_events_find(struct target_events *events, const struct collector_env *env, int cpu)
{
    int r = 0;

    events->mask = 0;
    events->n_refusals = 0;
    for (size_t i = 0; i < events->group->n_events && r == 0; i++)
        r = find_event(events, env, cpu, i);
    return r;
}

/* --- events that the kernel refuses --- */

/*
 * Returns whether the event is silently left out. A preset lists all events that PMUs of its kind may have, so a PMU
 * may lack some of them. Cache events that are marked -1 in the kernel's tables are refused with EINVAL.
 */
static bool is_left_out(const struct config_group *group, const struct attr *attr, int error)
{
    return group->preset && !group->strict && !attr->pmu->absent &&
           (error == -ENOENT || (error == -EINVAL && attr->kernel.type == PERF_TYPE_HW_CACHE));
}

/* Writes why the i-th event of a strict group is left out. `reason` says why the group could not be opened. */
static void explain_strict(const struct config_group *group, const struct partition *partition, size_t i,
                           const char *reason, char *text, size_t size)
{
    if (partition->fits)
        snprintf(
            text, size,
            "a strict group has more events than the PMU has counters (%s): only %zu of its %zu events can be counted "
            "at once; set strict: false, or split the group",
            reason_name(partition->errors[i]), partition->fits, group->n_events);
    else if (partition->culprit != i)
        snprintf(text, size, "left out with its strict group, because of %s: %s",
                 group->events[partition->culprit].event.text, reason);
    else
        snprintf(text, size, "%s", reason);
}

bool target_events_explain(const struct target_events *events, const struct machine *machine, size_t i, int error,
                           const struct partition *strict, char message[REFUSAL_SIZE], struct refusal *ret)
{
    const struct pmu *pmu = events->attrs[i].pmu;
    char reason[REFUSAL_SIZE / 2];

    if (is_left_out(events->group, &events->attrs[i], error))
        return false;
    const struct pmu *cause = strict && !strict->fits ? events->attrs[strict->culprit].pmu : pmu;
    reason_format(machine, cause, error, reason, sizeof(reason));
    if (strict)
        explain_strict(events->group, strict, i, reason, message, REFUSAL_SIZE);
    else
        snprintf(message, REFUSAL_SIZE, "%s", reason);
    *ret = (struct refusal){.event = i,
                            .pmu = pmu->name,
                            .message = message,
                            .reason = reason_label(cause, error),
                            .error = error,
                            .span = reason_span(error)};
    return true;
}

/* --- events that no target counts --- */

/* Returns whether the target counts the event now, or reports itself why it cannot. */
static bool target_has(const struct target *target, const struct collector_env *env, const struct event *event)
{
    const struct pmu *pmu = NULL;

    if (target->pmu)
        return !target->moved && attr_names_pmu(env->machine, event, target->pmu);
    CPUSET_FOREACH (cpu, &target->cpus)
        if (!target_is_offline(target, env->machine, cpu) && (find_on_cpu(env, event, cpu, &pmu, NULL) < 0 || pmu))
            return true;
    return false;
}

static bool targets_have(const struct targets *targets, const struct collector_env *env, const struct event *event)
{
    for (size_t i = 0; i < targets->n; i++)
        if (target_has(&targets->items[i], env, event))
            return true;
    return false;
}

int targets_explain_nowhere(const struct targets *targets, const struct collector_env *env,
                            const struct config_group *group, struct target_events *ret)
{
    struct error error;

    target_events_init(ret, group, NULL);
    for (size_t i = 0; i < group->n_events; i++) {
        /*
         * For a preset, the last variant decides what is reported, because it is meant for any PMU, even if no CPU is
         * online.
         */
        if (group->preset && !(group->events[i].variants >> (group->preset->n_variants - 1) & 1))
            continue;
        if (targets_have(targets, env, &group->events[i].event))
            continue;
        int r = targets->explain_nowhere(env, group, &group->events[i], &error);
        if (r < 0 && r != -ENOMEM)
            r = refuse(ret, env, i, NULL, r, error.message);
        if (r < 0)
            return r;
    }
    return 0;
}

int targets_explain_cpus(const struct collector_env *env, const struct config_event *event, bool for_cgroups,
                         struct error *error)
{
    const struct pmu *pmu = named_pmu(env->machine, &event->event);

    if (!pmu)
        return error_set(error, -ENODEV, "no online CPU %shas this event",
                         for_cgroups ? "" : "in collectors.cpu.cpus ");
    if (!pmu_is_per_cpu(pmu))
        return error_set(error, -EINVAL,
                         "PMU \"%s\" counts for several CPUs at once%s: this event belongs to collectors.pmu",
                         pmu->name, for_cgroups ? ", whatever cgroup runs on them" : "");
    _cleanup_(freep) char *cpus = cpuset_format(&pmu->cpus);
    if (!cpus)
        return error_oom(error);
    if (!cpus[0])
        return error_set(error, -ENODEV, "PMU \"%s\" has no CPU: its CPU list in sysfs is empty", pmu->name);
    return error_set(error, -ENODEV, "PMU \"%s\" belongs to CPU %s; none of these CPUs is online%s", pmu->name, cpus,
                     for_cgroups ? "" : " and in collectors.cpu.cpus");
}
