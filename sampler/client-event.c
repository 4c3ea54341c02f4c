/* SPDX-License-Identifier: Apache-2.0 */
/* The events that a client may name: see client-event.h. */
#include "sampler/client-event.h"

#include "perf/pmu-kind.h"

static bool is_listed(const struct config_sampler *config, const struct event *event)
{
    size_t system = strlen(event->system);

    for (size_t i = 0; i < config->n_tracepoints; i++) {
        const char *listed = config->tracepoints[i];
        if (strncmp(listed, event->system, system) == 0 && listed[system] == ':' &&
            str_equal(listed + system + 1, event->name))
            return true;
    }
    return false;
}

/* Whether all PMUs that the event names only count. */
static bool only_counts(const struct machine *machine, const struct event *event)
{
    if (event->kind == EVENT_PMU && pmu_kind(event->pmu) != PMU_COUNTING)
        return false;
    for (size_t i = 0; i < machine->n_pmus; i++)
        if (pmu_kind(machine->pmus[i]->name) != PMU_COUNTING && attr_names_pmu(machine, event, machine->pmus[i]))
            return false;
    return true;
}

int client_event_check(const struct config_sampler *config, const struct machine *machine, const struct event *event,
                       struct error *error)
{
    if (event->kind == EVENT_TRACEPOINT)
        return is_listed(config, event) ? 0
                                        : error_set(error, -EACCES,
                                                    "event: \"%s\" is not for clients: they may name only the "
                                                    "tracepoints that sampler.tracepoints "
                                                    "of the configuration lists",
                                                    event->text);
    if (event->kind != EVENT_BREAKPOINT && only_counts(machine, event))
        return 0;
    return error_set(
        error, -EACCES,
        "event: \"%s\" is not for clients: only the configuration may name probes, breakpoints and PMUs that "
        "trace",
        event->text);
}
