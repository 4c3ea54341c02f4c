/* SPDX-License-Identifier: Apache-2.0 */
#include "collectors/known.h"

#include "config/config.h"
#include "perf/machine.h"

struct visit {
    enum known_kind kind;
    void (*take)(void *userdata, const char *name);
    void *userdata;
};

static void take_counter(const struct visit *visit, const struct counter *counter)
{
    if (visit->kind == KNOWN_EVENTS)
        visit->take(visit->userdata, counter->event);
    else if (visit->kind == KNOWN_PMUS)
        visit->take(visit->userdata, counter->pmu);
}

static void take_row(const struct visit *visit, const struct row *row)
{
    if (visit->kind == KNOWN_GROUPS)
        visit->take(visit->userdata, row->group);
    for (size_t i = 0; i < row->n_counters; i++)
        take_counter(visit, &row->counters[i]);
}

static void take_configured(const struct visit *visit, const struct config_groups *groups)
{
    for (size_t i = 0; i < groups->n; i++) {
        const struct config_group *group = &groups->items[i];
        if (visit->kind == KNOWN_GROUPS)
            visit->take(visit->userdata, group->name);
        for (size_t k = 0; visit->kind == KNOWN_EVENTS && k < group->n_events; k++)
            visit->take(visit->userdata, group->events[k].event.metric);
    }
}

static void take_config(const struct visit *visit, const struct config *config)
{
    if (config->cpu.enabled)
        take_configured(visit, &config->cpu.groups);
    if (config->pmu.enabled)
        take_configured(visit, &config->pmu.groups);
    if (config->cgroup.enabled)
        take_configured(visit, &config->cgroup.groups);
}

void known_each(const struct snapshot *snapshot, enum known_kind kind, void (*take)(void *userdata, const char *name),
                void *userdata)
{
    const struct visit visit = {kind, take, userdata};

    for (size_t i = 0; i < snapshot->n_rows; i++)
        take_row(&visit, snapshot->rows[i]);
    if (snapshot->config)
        take_config(&visit, snapshot->config);
    for (size_t i = 0; kind == KNOWN_PMUS && snapshot->machine && i < snapshot->machine->n_pmus; i++)
        take(userdata, snapshot->machine->pmus[i]->name);
}

char *known_cpus(const struct snapshot *snapshot)
{
    return snapshot->machine ? cpuset_format(&snapshot->machine->possible) : NULL;
}

bool known_has_cpu(const struct snapshot *snapshot, unsigned first, unsigned last)
{
    if (!snapshot->machine)
        return true;
    int cpu = cpuset_next(&snapshot->machine->possible, (int)first - 1);
    return cpu >= 0 && (unsigned)cpu <= last;
}
