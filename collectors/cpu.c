/* SPDX-License-Identifier: Apache-2.0 */
/* The collector `cpu`: every configured group on every CPU in collectors.cpu.cpus. */
#include "base/cleanup.h"
#include "collectors/group-counts.h"

static int cpu_choose(const struct collector_context *context, struct cpuset *ret, struct error *error)
{
    const struct config_cpu *config = &context->config->cpu;

    if (str_equal(config->cpus, "all"))
        return cpuset_copy(&context->machine->possible, ret);
    int r = cpuset_parse(config->cpus, ret, error);
    if (r == 0)
        cpuset_intersect(ret, &context->machine->possible);
    return r;
}

static int cpu_list_places(const struct collector_context *context, struct places *places, struct error *error)
{
    _cleanup_(cpuset_done) struct cpuset cpus = {0};
    int r = cpu_choose(context, &cpus, error);

    if (r == 0)
        r = places_add_cpus(places, context->machine, &cpus, &(struct place){.target = {.pid = -1}});
    return r == -ENOMEM ? error_oom(error) : r;
}

static int cpu_open(const struct collector_context *context, void *previous, void **ret, struct error *error)
{
    _cleanup_(places_done) struct places places = {0};
    int r = cpu_list_places(context, &places, error);

    if (r == -ENOMEM)
        *ret = previous;
    else if (r < 0)
        group_set_close(context, previous);
    if (r < 0)
        return r;
    return group_set_open(context, &context->config->cpu.groups, &places, previous, ret, error);
}

/* Reports CPUs that the configuration names and this machine cannot have. */
static int cpu_report_impossible(const struct collector_context *context, struct failures *failures)
{
    _cleanup_(cpuset_done) struct cpuset cpus = {0};
    _cleanup_(freep) char *possible = cpuset_format(&context->machine->possible), *message = NULL;
    struct failure failure = {
        .collector = context->collector, .group = "", .event = "", .metric = "", .pmu = "", .reason = "cpus"};
    int r = 0;

    if (str_equal(context->config->cpu.cpus, "all"))
        return 0;
    if (!possible ||
        asprintf(&message, "in collectors.cpu.cpus, but this machine has only CPU %s: the others are counted",
                 possible) < 0)
        return -ENOMEM;
    failure.message = message;
    r = cpuset_parse(context->config->cpu.cpus, &cpus, NULL);
    if (r == 0)
        cpuset_subtract(&cpus, &context->machine->possible);
    for (int cpu = cpuset_next(&cpus, -1); r == 0 && cpu >= 0; cpu = cpuset_next(&cpus, cpu))
        r = failures_add(failures, &failure, cpu);
    return r;
}

static int cpu_report(const struct collector_context *context, const void *state, struct failures *failures)
{
    int r = cpu_report_impossible(context, failures);

    return r < 0 ? r : group_set_report(context, state, failures);
}

const struct collector collector_cpu = {
    .name = "cpu",
    .enabled = offsetof(struct config, cpu.enabled),
    .has_groups = true,
    .open = cpu_open,
    .collect = group_set_collect,
    .pause = group_set_pause,
    .report = cpu_report,
    .close = group_set_close,
};
