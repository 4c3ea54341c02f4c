/* SPDX-License-Identifier: Apache-2.0 */
/* The opener's permissions for a configuration: see permissions.h. */
#include "daemon/permissions.h"

#include "base/cleanup.h"
#include "bpf/layout.h"
#include "config/web-config.h"
#include "perf/group.h"
#include "perf/pmu-kind.h"
#include "perf/presets.h"
#include "sampler/rings.h"

/* Events that are opened for a moment: the number of a PMU's counters is found with a group of the largest size. */
#define EVENTS_TRIED GROUP_MEMBERS_MAX

struct permission_walk {
    struct sys *sys;
    struct machine *machine; /* loaded on first use */
    struct opener_permissions *permissions;
};

/* The PMU that is named by the event itself, for those that only the configuration may name. */
static const char *pmu_name_of(const struct event *event)
{
    switch (event->kind) {
    case EVENT_TRACEPOINT:
        return "tracepoint";
    case EVENT_BREAKPOINT:
        return "breakpoint";
    case EVENT_PMU:
        return event->pmu;
    case EVENT_GENERIC:
    case EVENT_RAW:
    case EVENT_NAME:
        break;
    }
    return "";
}

/* NULL where it cannot be loaded, which is reported later. -ENOMEM. */
static int walk_machine(struct permission_walk *walk, struct machine **ret)
{
    if (!walk->machine && machine_load(walk->sys, &walk->machine, NULL) == -ENOMEM)
        return -ENOMEM;
    *ret = walk->machine;
    return 0;
}

static int grant(void *userdata, const struct event *event, bool samples)
{
    struct permission_walk *walk = userdata;
    const char *name = pmu_name_of(event);
    struct machine *machine;
    struct attr attr;

    if (pmu_kind(name) == PMU_COUNTING)
        return 0;
    if (walk_machine(walk, &machine) < 0)
        return -ENOMEM;
    const struct pmu *pmu = machine ? machine_find_pmu(machine, name) : NULL;
    if (!pmu || attr_build(walk->sys, machine, event, pmu, &attr, NULL) < 0)
        return 0;
    return opener_permissions_add_event(walk->permissions, &attr, samples);
}

/* An error is reported later, when the server reads the file. */
static int add_web_files(struct opener_permissions *permissions, const char *path)
{
    _cleanup_(web_config_freep) struct web_config *config = NULL;

    int r = opener_permissions_add_file(permissions, path);
    if (r < 0 || !*path || web_config_load(NULL, path, &config, NULL) < 0)
        return r;
    r = opener_permissions_add_file(permissions, config->tls.cert_file);
    if (r == 0)
        r = opener_permissions_add_file(permissions, config->tls.key_file);
    return r == 0 ? opener_permissions_add_file(permissions, config->tls.client_ca_file) : r;
}

/* The number of slots is one of tally.h's: those of the watched cgroups, or the smallest, and it has two of its own. */
static uint32_t tally_slots(const struct config *config)
{
    if (!config->cgroup.enabled || config->cgroup.engine == ENGINE_PERF)
        return 0;
    return (uint32_t)MAX(config_max_cgroups(config, ENGINE_BPF) + TALLY_SLOT_FIRST, 256);
}

/* A CPU counts the events of one variant of a preset. */
static uint64_t count_of_variant(const struct config_group *group, size_t variant)
{
    uint64_t n = 0;

    for (size_t i = 0; i < group->n_events; i++)
        n += group->events[i].variants >> variant & 1;
    return n;
}

/* The most events that a CPU, or a cgroup on it, may have of these groups. */
static uint64_t count_on_cpu(const struct config_groups *groups)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < groups->n; i++) {
        const struct config_group *group = &groups->items[i];
        uint64_t n = group->preset ? 0 : group->n_events;
        for (size_t k = 0; group->preset && k < group->preset->n_variants; k++)
            n = MAX(n, count_of_variant(group, k));
        sum += n;
    }
    return sum;
}

/* All PMUs of the system may have the same CPU in their cpumask. */
static int count_of_pmus(struct permission_walk *walk, const struct config_groups *groups, uint64_t *ret)
{
    struct machine *machine = NULL;
    int r = groups->n ? walk_machine(walk, &machine) : 0;

    *ret = 0;
    for (size_t i = 0; machine && i < machine->n_pmus; i++)
        for (size_t k = 0; k < groups->n && !pmu_is_per_cpu(machine->pmus[i]); k++)
            for (size_t j = 0; j < groups->items[k].n_events; j++)
                *ret += attr_names_pmu(machine, &groups->items[k].events[j].event, machine->pmus[i]);
    return r;
}

/*
 * Sets the largest numbers of events that the configuration can need. On a CPU they may double during a reload: the
 * engine bpf opens its new groups before it closes the old ones, which it may share with the collector cpu. Groups of
 * cgroups and of the sampler are closed before others are opened.
 */
static int set_limits(struct permission_walk *walk, const struct config *config)
{
    const struct config_cgroup *cgroup = &config->cgroup;
    const struct config_sampler *sampler = &config->sampler;
    uint64_t of_cgroup = cgroup->enabled ? count_on_cpu(&cgroup->groups) : 0, of_pmus = 0;
    int r = config->pmu.enabled ? count_of_pmus(walk, &config->pmu.groups, &of_pmus) : 0;
    uint64_t counted = (config->cpu.enabled ? count_on_cpu(&config->cpu.groups) : 0) + of_pmus +
                       (cgroup->engine == ENGINE_PERF ? 0 : of_cgroup);
    uint64_t sampled = sampler->enabled ? sampler->max_clients * GROUP_MEMBERS_MAX : 0;
    struct opener_event_limits *limits = &walk->permissions->limits;

    limits->cpu = limits->cpu_tallied = 2 * counted + sampled + EVENTS_TRIED;
    if (cgroup->engine != ENGINE_BPF)
        limits->cpu += of_cgroup * config_max_cgroups(config, ENGINE_PERF);
    limits->thread = sampled + EVENTS_TRIED;
    limits->threads = (sampler->enabled ? sampler->max_clients * LANE_SET_DESCRIPTORS_MAX : 0) + EVENTS_TRIED;
    return r;
}

int permissions_from_config(struct sys *sys, const struct config *config, const char *config_file,
                            struct opener_permissions *ret, struct error *error)
{
    struct permission_walk walk = {.sys = sys, .permissions = ret};

    *ret = (struct opener_permissions){.sampling = config->sampler.enabled,
                                       .breakpoints = config->opener_breakpoints,
                                       .tally_slots = tally_slots(config)};
    int r = config_each_event(config, grant, &walk);
    if (r == 0)
        r = set_limits(&walk, config);
    machine_free(walk.machine);
    if (r == 0)
        r = opener_permissions_add_file(ret, config_file);
    if (r == 0)
        r = add_web_files(ret, config->web.config_file);
    return r < 0 ? error_oom(error) : 0;
}
