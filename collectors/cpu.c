/* SPDX-License-Identifier: Apache-2.0 */
/* The `cpu` collector: every configured group on every CPU in collectors.cpu.cpus. */
#include <stdio.h>

#include "base/cleanup.h"
#include "collectors/group-counts.h"
#include "metrics/own-metrics.h"

static int cpu_choose(const struct collector_env *env, struct cpuset *ret, struct error *error)
{
    const struct config_cpu *config = &env->config->cpu;

    if (str_equal(config->cpus, "all"))
        return cpuset_copy(&env->machine->possible, ret);
    int r = cpuset_parse(config->cpus, ret, error);
    if (r == 0)
        cpuset_intersect(ret, &env->machine->possible);
    return r;
}

static int cpu_explain_nowhere(const struct collector_env *env, const struct config_group *group,
                               const struct config_event *event, struct error *error)
{
    (void)group;
    return targets_explain_cpus(env, event, false, error);
}

static int cpu_list_targets(const struct collector_env *env, struct targets *targets, struct error *error)
{
    _cleanup_(cpuset_done) struct cpuset cpus = {0};
    int r = cpu_choose(env, &cpus, error);

    for (int cpu = cpuset_next(&cpus, -1); cpu >= 0 && r == 0; cpu = cpuset_next(&cpus, cpu))
        r = targets_add_cpu(targets, &(struct target){.pid = -1}, cpu);
    return r == -ENOMEM ? error_oom(error) : r;
}

static void remove_busy_times(const struct collector_env *env)
{
    struct snapshot *snapshot = env->snapshot;

    for (size_t i = 0; i < snapshot->n_busy_series; i++)
        metrics_remove(&snapshot->metrics, snapshot->busy_series[i]);
    free(snapshot->busy_series);
    snapshot->busy_series = NULL;
    snapshot->n_busy_series = 0;
    busy_times_suspend(&snapshot->busy, env->sys);
}

static void cpu_close(const struct collector_env *env, void *state)
{
    remove_busy_times(env);
    group_set_close(env, state);
}

static bool row_needs_busy_time(const struct row *row)
{
    for (size_t i = 0; row->metric_set && i < metric_set_count(row->metric_set); i++)
        if (metric_set_uses_busy_time(row->metric_set, i))
            return true;
    return false;
}

static bool needs_busy_times(const struct collector_env *env)
{
    const struct snapshot *snapshot = env->snapshot;

    for (size_t i = 0; i < snapshot->n_rows; i++) {
        const struct row *row = snapshot->rows[i];
        if (!row->removed && row->collector == env->collector && row_needs_busy_time(row))
            return true;
    }
    return false;
}

static int cpu_open(const struct collector_env *env, void *previous, struct opened *ret, struct error *error)
{
    _cleanup_(targets_done) struct targets targets = {.explain_nowhere = cpu_explain_nowhere};
    int r = cpu_list_targets(env, &targets, error);

    if (r == -ENOMEM)
        ret->state = previous;
    else if (r < 0)
        cpu_close(env, previous);
    if (r < 0)
        return r;
    r = group_set_open(env, &env->config->cpu.groups, &targets, previous, ret, error);
    env->snapshot->needs_busy = env->config->history.enabled || needs_busy_times(env);
    return r;
}

/* Adds the series of a CPU's busy time. If memory runs out, the series is added at the next reading. */
static void show_busy_time(const struct collector_env *env, size_t i)
{
    struct snapshot *snapshot = env->snapshot;
    const struct busy_time *time = &snapshot->busy.items[i];

    if (i == snapshot->n_busy_series) {
        char cpu[16];
        snprintf(cpu, sizeof(cpu), "%u", time->cpu);
        const struct label label = {"cpu", cpu};
        if (array_grow(&snapshot->busy_series, i) < 0)
            return;
        struct series *series = own_metrics_add(&snapshot->metrics, OWN_CPU_BUSY, env->collector, &label, 1);
        if (!series)
            return;
        snapshot->busy_series[snapshot->n_busy_series++] = series;
    }
    if (i >= snapshot->n_busy_series)
        return;
    series_set(snapshot->busy_series[i], time->total_ns);
    snapshot->busy_series[i]->visible = time->known;
}

/*
 * Reads the CPUs' busy times, just before the counters are read. If this fails, only the metrics that need busy times
 * are missing.
 */
static void read_busy_times(const struct collector_env *env)
{
    struct snapshot *snapshot = env->snapshot;

    if (!snapshot->needs_busy) {
        remove_busy_times(env);
        return;
    }
    (void)busy_times_load(&snapshot->busy, env->sys);
    for (size_t i = 0; i < snapshot->busy.n; i++)
        show_busy_time(env, i);
}

static int cpu_collect(const struct collector_env *env, void *state, struct collected *ret, struct error *error)
{
    read_busy_times(env);
    return group_set_collect(env, state, ret, error);
}

/* Reports configured CPUs that cannot exist on this machine. */
static int cpu_report_impossible(const struct collector_env *env, struct failures *failures)
{
    _cleanup_(cpuset_done) struct cpuset cpus = {0};
    _cleanup_(freep) char *possible = cpuset_format(&env->machine->possible), *message = NULL;
    struct failure failure = {
        .collector = env->collector, .group = "", .event = "", .metric = "", .pmu = "", .reason = "cpus"};
    int r = 0;

    if (str_equal(env->config->cpu.cpus, "all"))
        return 0;
    if (!possible ||
        asprintf(&message, "listed in collectors.cpu.cpus, but this machine has only CPU %s; the others are counted",
                 possible) < 0)
        return -ENOMEM;
    failure.message = message;
    r = cpuset_parse(env->config->cpu.cpus, &cpus, NULL);
    if (r == 0)
        cpuset_subtract(&cpus, &env->machine->possible);
    for (int cpu = cpuset_next(&cpus, -1); r == 0 && cpu >= 0; cpu = cpuset_next(&cpus, cpu))
        r = failures_add(failures, &failure, cpu);
    return r;
}

static int cpu_report(const struct collector_env *env, const void *state, struct failures *failures)
{
    int r = cpu_report_impossible(env, failures);

    return r < 0 ? r : group_set_report(env, state, failures);
}

const struct collector collector_cpu = {
    .name = "cpu",
    .enabled = offsetof(struct config, cpu.enabled),
    .has_groups = true,
    .open = cpu_open,
    .collect = cpu_collect,
    .pause = group_set_pause,
    .report = cpu_report,
    .close = cpu_close,
};
