/* SPDX-License-Identifier: Apache-2.0 */
/* The opener's permissions for a configuration: see permissions.h. */
#include "daemon/permissions.h"

#include "base/cleanup.h"
#include "config/web-config.h"
#include "perf/pmu-kind.h"
#include "perf/tally/layout.h"

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

static int grant(void *userdata, const struct event *event, bool samples)
{
    struct permission_walk *walk = userdata;
    const char *name = pmu_name_of(event);
    struct attr attr;

    if (pmu_kind(name) == PMU_COUNTING)
        return 0;
    if (!walk->machine && machine_load(walk->sys, &walk->machine, NULL) == -ENOMEM)
        return -ENOMEM;
    const struct pmu *pmu = walk->machine ? machine_find_pmu(walk->machine, name) : NULL;
    if (!pmu || attr_build(walk->sys, walk->machine, event, pmu, &attr, NULL) < 0)
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

int permissions_from_config(struct sys *sys, const struct config *config, const char *config_file,
                            struct opener_permissions *ret, struct error *error)
{
    struct permission_walk walk = {.sys = sys, .permissions = ret};

    *ret = (struct opener_permissions){.sampling = config->sampler.enabled,
                                       .breakpoints = config->opener_breakpoints,
                                       .tally_slots = tally_slots(config)};
    int r = config_each_event(config, grant, &walk);
    machine_free(walk.machine);
    if (r == 0)
        r = opener_permissions_add_file(ret, config_file);
    if (r == 0)
        r = add_web_files(ret, config->web.config_file);
    return r < 0 ? error_oom(error) : 0;
}
