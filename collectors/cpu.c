/* SPDX-License-Identifier: Apache-2.0 */
/* The collector `cpu`: every configured group on every chosen CPU. */
#include "base/cleanup.h"
#include "collectors/tally.h"

struct cpu {
    struct tally **tallies; /* by CPU, then in the order of the configuration */
    size_t n;
    struct series *groups[N_ROW_STATES];
};

static bool cpu_enabled(const struct config *config)
{
    return config->cpu.enabled;
}

static void cpu_close(const struct collector_context *context, void *state)
{
    struct cpu *cpu = state;

    if (!cpu)
        return;
    for (size_t i = 0; i < cpu->n; i++)
        tally_free(cpu->tallies[i], context->snapshot);
    for (size_t i = 0; i < N_ROW_STATES; i++)
        metrics_remove(&context->snapshot->metrics, cpu->groups[i]);
    free(cpu->tallies);
    free(cpu);
}

static int chosen_cpus(const struct collector_context *context, struct cpuset *ret, struct error *error)
{
    const struct config_cpu *config = &context->config->cpu;

    if (str_equal(config->cpus, "all"))
        return cpuset_copy(&context->machine->online, ret);
    int r = cpuset_parse(config->cpus, ret, error);
    if (r == 0)
        cpuset_intersect(ret, &context->machine->online);
    return r;
}

/* Takes a tally that counts the same on the same CPU out of the previous state. */
static struct tally *take_over(struct cpu *previous, const struct config_group *group, int number)
{
    for (size_t i = 0; previous && i < previous->n; i++)
        if (previous->tallies[i] && tally_goes_on(previous->tallies[i], group->signature, number))
            return steal(previous->tallies[i]);
    return NULL;
}

static int add_tally(struct cpu *cpu, struct tally *tally)
{
    int r = array_grow(&cpu->tallies, cpu->n);

    if (r == 0)
        cpu->tallies[cpu->n++] = tally;
    return r;
}

static int open_on_cpu(const struct collector_context *context, struct cpu *cpu, struct cpu *previous, int number)
{
    const struct config_groups *groups = &context->config->cpu.groups;
    struct group_target target = {.pid = -1, .cpu = number};

    for (size_t i = 0; i < groups->n; i++) {
        struct tally *tally = take_over(previous, &groups->items[i], number);
        int r = tally ? 0 : tally_open(context, &groups->items[i], &target, NULL, &tally);
        if (r == 0 && tally)
            r = add_tally(cpu, tally);
        if (r < 0) {
            tally_free(tally, context->snapshot);
            return r;
        }
    }
    return 0;
}

static int add_state_series(const struct collector_context *context, struct cpu *cpu)
{
    static const struct metric metric = {
        .name = "perfcountd_groups",
        .help = "Number of groups in each state; a group is counted once for each target.",
        .unit = "",
        .type = METRIC_GAUGE,
    };

    for (size_t i = 0; i < N_ROW_STATES; i++) {
        struct label labels[] = {{"collector", collector_cpu.name}, {"state", row_state_name((enum row_state)i)}};
        cpu->groups[i] =
            metrics_add(&context->snapshot->metrics, &metric, context->collector, 0, labels, ARRAY_SIZE(labels));
        if (!cpu->groups[i])
            return -ENOMEM;
    }
    return 0;
}

static int cpu_open(const struct collector_context *context, void *previous, void **ret, struct error *error)
{
    _cleanup_(cpuset_done) struct cpuset cpus = {0};
    struct cpu *cpu = calloc(1, sizeof(*cpu));
    int r = cpu ? chosen_cpus(context, &cpus, error) : error_oom(error);

    for (int number = cpuset_next(&cpus, -1); r == 0 && number >= 0; number = cpuset_next(&cpus, number))
        r = open_on_cpu(context, cpu, previous, number);
    cpu_close(context, previous);
    if (r == 0)
        r = add_state_series(context, cpu);
    if (r < 0) {
        cpu_close(context, cpu);
        return r;
    }
    *ret = cpu;
    return 0;
}

static int cpu_collect(const struct collector_context *context, void *state, struct error *error)
{
    size_t counts[N_ROW_STATES] = {0}, readable = 0;
    struct cpu *cpu = state;

    (void)context;
    for (size_t i = 0; i < cpu->n; i++) {
        readable += tally_collect(cpu->tallies[i]);
        tally_count(cpu->tallies[i], counts);
    }
    for (size_t i = 0; i < N_ROW_STATES; i++)
        series_set(cpu->groups[i], counts[i]);
    if (cpu->n > 0 && readable == 0)
        return error_set(error, -ENODATA, "no group of the collector cpu could be read");
    return 0;
}

static int cpu_report(const struct collector_context *context, const void *state, struct failures *failures)
{
    const struct cpu *cpu = state;
    int r = 0;

    for (size_t i = 0; i < cpu->n && r == 0; i++)
        r = tally_report(cpu->tallies[i], context, failures);
    return r;
}

const struct collector collector_cpu = {
    .name = "cpu",
    .enabled = cpu_enabled,
    .open = cpu_open,
    .collect = cpu_collect,
    .report = cpu_report,
    .close = cpu_close,
};
