/* SPDX-License-Identifier: Apache-2.0 */
/* The names by which counters can be asked for: see known.h. */
#include "collectors/known.h"

#include "config/config.h"
#include "perf/machine.h"

struct search {
    enum known_kind kind;
    void (*take)(void *userdata, const char *name);
    void *userdata;
};

static void take_counter(const struct search *search, const struct counter *counter)
{
    if (search->kind == KNOWN_EVENTS)
        search->take(search->userdata, counter->event);
    else if (search->kind == KNOWN_PMUS)
        search->take(search->userdata, counter->pmu);
}

static void take_row(const struct search *search, const struct row *row)
{
    if (search->kind == KNOWN_GROUPS)
        search->take(search->userdata, row->group);
    for (size_t i = 0; i < row->n_counters; i++)
        take_counter(search, &row->counters[i]);
}

static void take_configured(const struct search *search, const struct config_groups *groups)
{
    for (size_t i = 0; i < groups->n; i++) {
        const struct config_group *group = &groups->items[i];
        if (search->kind == KNOWN_GROUPS)
            search->take(search->userdata, group->name);
        for (size_t k = 0; search->kind == KNOWN_EVENTS && k < group->n_events; k++)
            search->take(search->userdata, group->events[k].event.metric);
    }
}

static void take_config(const struct search *search, const struct config *config)
{
    if (config->cpu.enabled)
        take_configured(search, &config->cpu.groups);
    if (config->pmu.enabled)
        take_configured(search, &config->pmu.groups);
    if (config->cgroup.enabled)
        take_configured(search, &config->cgroup.groups);
}

void known_each(const struct snapshot *snapshot, enum known_kind kind, void (*take)(void *userdata, const char *name),
                void *userdata)
{
    const struct search search = {kind, take, userdata};

    for (size_t i = 0; i < snapshot->n_rows; i++)
        take_row(&search, snapshot->rows[i]);
    if (snapshot->config)
        take_config(&search, snapshot->config);
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
