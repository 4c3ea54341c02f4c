/* SPDX-License-Identifier: Apache-2.0 */
/* Every event this machine offers: see catalogue.h. */
#include "daemon/catalogue.h"

#include <stdio.h>

#include "base/cleanup.h"
#include "perf/generic.h"
#include "perf/group.h"
#include "perf/pfm.h"

struct catalogue {
    struct sys *sys;
    const struct machine *machine;
    json_t *events;
    bool failed;
};

static void add(struct catalogue *catalogue, const char *kind, const char *name, const struct pmu *pmu,
                const char *description)
{
    _cleanup_(freep) char *cpus = cpuset_format(&pmu->cpus);
    json_t *event = json_pack("{s:s, s:s, s:s, s:s, s:s}", "name", name, "pmu", pmu->name, "cpus", cpus ? cpus : "",
                              "kind", kind, "description", description);

    if (!event || !cpus || json_array_append_new(catalogue->events, event) < 0)
        catalogue->failed = true;
}

/* Whether the kernel opens the event on the PMU. One that may not be opened is offered all the same. */
static bool is_offered(struct catalogue *catalogue, const struct event *event, const struct pmu *pmu)
{
    struct group_target target = {.pid = -1, .cpu = cpuset_next(&pmu->cpus, -1)};
    struct group *group = NULL;
    struct attr attr;

    if (pmu->absent || target.cpu < 0 || attr_build(catalogue->sys, catalogue->machine, event, pmu, &attr, NULL) < 0)
        return false;
    int r = group_open(catalogue->sys, &attr, &target, &group);
    group_free(group);
    return r == 0 || r == -EACCES || r == -EPERM || r == -EMFILE;
}

static void try_generic(struct catalogue *catalogue, const char *kind, const char *name, const struct pmu *pmu)
{
    struct event event;

    if (event_parse(name, &event, NULL) < 0)
        return;
    _cleanup_(freep) char *help = event_help(&event);
    if (is_offered(catalogue, &event, pmu))
        add(catalogue, kind, name, pmu, help ? help : "");
    event_done(&event);
}

static void add_generic(struct catalogue *catalogue)
{
    const struct pmu *software = machine_find_pmu(catalogue->machine, "software");

    for (size_t i = 0; i < n_generic_events; i++) {
        if (generic_events[i].type == PERF_TYPE_SOFTWARE && software)
            try_generic(catalogue, "software", generic_events[i].name, software);
        for (size_t k = 0; generic_events[i].type == PERF_TYPE_HARDWARE && k < catalogue->machine->n_pmus; k++)
            if (catalogue->machine->pmus[k]->scope == PMU_CORE)
                try_generic(catalogue, "hardware", generic_events[i].name, catalogue->machine->pmus[k]);
    }
}

static void add_cache(struct catalogue *catalogue, const struct pmu *pmu)
{
    char name[64];
    uint64_t config;

    for (size_t i = 0; generic_cache_name(i, name, sizeof(name), &config); i++)
        try_generic(catalogue, "cache", name, pmu);
}

static void add_named(struct catalogue *catalogue, const struct pmu *pmu)
{
    for (size_t i = 0; i < pmu->n_events; i++) {
        char name[256], description[512];
        const struct pmu_event *event = &pmu->events[i];
        snprintf(name, sizeof(name), "%s/%s/", pmu->name, event->name);
        snprintf(description, sizeof(description), "%s%s%s", event->terms, event->unit[0] ? ", in " : "", event->unit);
        add(catalogue, "pmu", name, pmu, description);
    }
}

struct named {
    struct catalogue *catalogue;
    const struct pmu *pmu;
};

static void add_pfm_event(void *userdata, const char *name, const char *description)
{
    const struct named *named = userdata;
    add(named->catalogue, "libpfm4", name, named->pmu, description);
}

static void add_pfm(struct catalogue *catalogue, const struct pmu *pmu)
{
    struct named named = {.catalogue = catalogue, .pmu = pmu};
    pfm_list(pmu, add_pfm_event, &named);
}

static void add_tracepoints_of(struct catalogue *catalogue, const struct pmu *pmu, const char *system)
{
    char path[512];
    char **names;
    size_t n;

    snprintf(path, sizeof(path), "%s/events/%s", catalogue->machine->tracefs, system);
    if (sys_list_directory(catalogue->sys, path, &names, &n) < 0)
        return;
    for (size_t i = 0; i < n; i++) {
        char name[512];
        /* Beside the events a system has the files `enable` and `filter`. */
        if (str_equal(names[i], "enable") || str_equal(names[i], "filter"))
            continue;
        snprintf(name, sizeof(name), "%s:%s", system, names[i]);
        add(catalogue, "tracepoint", name, pmu, "Tracepoint of the kernel.");
    }
    strings_free(names, n);
}

static void add_tracepoints(struct catalogue *catalogue)
{
    const struct pmu *pmu = machine_find_pmu(catalogue->machine, "tracepoint");
    char path[512];
    char **systems;
    size_t n;

    if (!pmu || !catalogue->machine->tracefs)
        return;
    snprintf(path, sizeof(path), "%s/events", catalogue->machine->tracefs);
    if (sys_list_directory(catalogue->sys, path, &systems, &n) < 0)
        return;
    for (size_t i = 0; i < n; i++)
        add_tracepoints_of(catalogue, pmu, systems[i]);
    strings_free(systems, n);
}

json_t *catalogue_json(struct sys *sys, const struct machine *machine)
{
    struct catalogue catalogue = {.sys = sys, .machine = machine, .events = json_array()};

    if (!catalogue.events)
        return NULL;
    add_generic(&catalogue);
    for (size_t i = 0; i < machine->n_pmus; i++) {
        if (machine->pmus[i]->scope == PMU_CORE && !machine->pmus[i]->absent)
            add_cache(&catalogue, machine->pmus[i]);
        add_named(&catalogue, machine->pmus[i]);
        add_pfm(&catalogue, machine->pmus[i]);
    }
    add_tracepoints(&catalogue);
    if (catalogue.failed) {
        json_decref(catalogue.events);
        return NULL;
    }
    return catalogue.events;
}
