/* SPDX-License-Identifier: Apache-2.0 */
/* A place where groups are opened: see place.h. */
#include "collectors/place.h"

#include "base/cleanup.h"

void places_done(struct places *places)
{
    free(places->items);
    *places = (struct places){0};
}

int places_add(struct places *places, const struct place *place)
{
    int r = array_grow(&places->items, places->n);

    if (r == 0)
        places->items[places->n++] = *place;
    return r;
}

const char *place_pmu_name(const struct place *place)
{
    return place->pmu ? place->pmu->name : "";
}

/* The first PMU that the event names; NULL where it names none. */
static const struct pmu *named_pmu(const struct machine *machine, const struct event *event)
{
    for (size_t i = 0; i < machine->n_pmus; i++)
        if (attr_names_pmu(machine, event, machine->pmus[i]))
            return machine->pmus[i];
    return NULL;
}

/* An event that this machine does not have is an error on each CPU; an event of another CPU's PMU is none. */
static int find_on_cpu(const struct place *place, const struct collector_context *context, const struct event *event,
                       const struct pmu **ret, struct error *error)
{
    const struct pmu *pmu = attr_pmu(context->machine, event, (unsigned)place->target.cpu);

    if (!pmu && !named_pmu(context->machine, event)) {
        int r = attr_check(context->sys, context->machine, event, error);
        if (r < 0)
            return r;
    }
    *ret = pmu;
    return 0;
}

static int find_on_pmu(const struct place *place, const struct collector_context *context, const struct event *event,
                       const struct pmu **ret, struct error *error)
{
    bool is_own = attr_names_pmu(context->machine, event, place->pmu);

    if (is_own && place->target.cpu < 0)
        return error_set(error, -ENODEV, "none of the CPUs on which PMU \"%s\" is read is online: see its cpumask",
                         place->pmu->name);
    *ret = is_own ? place->pmu : NULL;
    return 0;
}

/* Whether another place of the list counts the event now, or reports why it cannot. */
static bool is_found_elsewhere(const struct place *place, const struct collector_context *context,
                               const struct event *event)
{
    for (size_t i = 0; i < place->list->n && &place->list->items[i] != place; i++) {
        const struct pmu *pmu = NULL;
        if (place->list->items[i].away)
            continue;
        if (place_find_pmu(&place->list->items[i], context, event, &pmu, NULL) < 0 || pmu)
            return true;
    }
    return false;
}

/* Why no CPU of the list counts the event. Cgroups are counted on all CPUs. */
static int explain_no_cpu(const struct place *place, const struct machine *machine, const struct event *event,
                          struct error *error)
{
    const struct pmu *pmu = named_pmu(machine, event);

    if (!pmu)
        return error_set(error, -ENODEV, "none of the CPUs %sthat are online has this event",
                         place->cgroup ? "" : "in collectors.cpu.cpus ");
    if (!pmu_is_per_cpu(pmu))
        return error_set(error, -EINVAL,
                         "PMU \"%s\" counts for several CPUs at once%s: this event belongs to collectors.pmu",
                         pmu->name, place->cgroup ? ", whatever cgroup runs on them" : "");
    _cleanup_(freep) char *cpus = cpuset_format(&pmu->cpus);
    if (!cpus)
        return error_oom(error);
    if (!cpus[0])
        return error_set(error, -ENODEV, "PMU \"%s\" has no CPU: its list of CPUs in sysfs is empty", pmu->name);
    return error_set(error, -ENODEV, "PMU \"%s\" belongs to CPU %s; none of these CPUs is online%s", pmu->name, cpus,
                     place->cgroup ? "" : " and in collectors.cpu.cpus");
}

/* Why no PMU of the list counts the event. */
static int explain_no_pmu(const struct collector_context *context, const struct event *event, struct error *error)
{
    int r = attr_check(context->sys, context->machine, event, error);

    if (r < 0)
        return r;
    return error_set(error, -EINVAL, "this event is counted on each CPU: it belongs to collectors.cpu");
}

int place_find_pmu(const struct place *place, const struct collector_context *context, const struct event *event,
                   const struct pmu **ret, struct error *error)
{
    switch (place->kind) {
    case PLACE_CPU:
        return find_on_cpu(place, context, event, ret, error);
    case PLACE_PMU:
        return find_on_pmu(place, context, event, ret, error);
    case PLACE_NO_CPU:
    case PLACE_NO_PMU:
        break;
    }
    if (is_found_elsewhere(place, context, event)) {
        *ret = NULL;
        return 0;
    }
    return place->kind == PLACE_NO_CPU ? explain_no_cpu(place, context->machine, event, error)
                                       : explain_no_pmu(context, event, error);
}
