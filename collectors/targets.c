/* SPDX-License-Identifier: Apache-2.0 */
#include "collectors/targets.h"

#include "base/cleanup.h"
#include "perf/presets.h"

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

int places_add_cpus(struct places *places, const struct machine *machine, const struct cpuset *cpus,
                    const struct place *like)
{
    struct place place = *like;
    int r = 0;

    for (int cpu = cpuset_next(cpus, -1); cpu >= 0 && r == 0; cpu = cpuset_next(cpus, cpu)) {
        place.kind = PLACE_CPU;
        place.target.cpu = cpu;
        place.offline = !cpuset_has(&machine->online, (unsigned)cpu);
        r = places_add(places, &place);
    }
    place = *like;
    place.kind = PLACE_NO_CPU;
    place.target.cpu = -1;
    place.list = places;
    return r < 0 ? r : places_add(places, &place);
}

const char *place_pmu_name(const struct place *place)
{
    return place->pmu ? place->pmu->name : "";
}

/* --- PMU of an event --- */

/* Returns the first PMU that the event names, or NULL. */
static const struct pmu *named_pmu(const struct machine *machine, const struct event *event)
{
    for (size_t i = 0; i < machine->n_pmus; i++)
        if (attr_names_pmu(machine, event, machine->pmus[i]))
            return machine->pmus[i];
    return NULL;
}

/* An event that this machine does not have is an error on each CPU. An event of another CPU's PMU is not. */
static int find_on_cpu(const struct place *place, const struct collector_env *env, const struct event *event,
                       const struct pmu **ret, struct error *error)
{
    const struct pmu *pmu = attr_pmu(env->machine, event, (unsigned)place->target.cpu);

    if (!pmu && !named_pmu(env->machine, event)) {
        int r = attr_check(env->sys, env->machine, event, error);
        if (r < 0)
            return r;
    }
    *ret = pmu;
    return 0;
}

static int find_on_pmu(const struct place *place, const struct collector_env *env, const struct event *event,
                       const struct pmu **ret, struct error *error)
{
    bool is_own = attr_names_pmu(env->machine, event, place->pmu);

    if (is_own && place->target.cpu < 0)
        return error_set(error, -ENODEV, "none of the CPUs on which PMU \"%s\" is read is online: see its cpumask",
                         place->pmu->name);
    *ret = is_own ? place->pmu : NULL;
    return 0;
}

static int find_on_target(const struct place *place, const struct collector_env *env, const struct event *event,
                          const struct pmu **ret, struct error *error)
{
    return place->kind == PLACE_CPU ? find_on_cpu(place, env, event, ret, error)
                                    : find_on_pmu(place, env, event, ret, error);
}

/* Returns whether another place of the list counts the event now, or reports why it cannot. */
static bool is_found_elsewhere(const struct place *place, const struct collector_env *env, const struct event *event)
{
    for (size_t i = 0; i < place->list->n && &place->list->items[i] != place; i++) {
        const struct pmu *pmu = NULL;
        if (place->list->items[i].offline)
            continue;
        if (find_on_target(&place->list->items[i], env, event, &pmu, NULL) < 0 || pmu)
            return true;
    }
    return false;
}

/* Writes why no CPU of the list counts the event. A list for a cgroup has all CPUs. */
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

/* Writes why no PMU of the list counts the event. */
static int explain_no_pmu(const struct collector_env *env, const struct event *event, struct error *error)
{
    int r = attr_check(env->sys, env->machine, event, error);

    if (r < 0)
        return r;
    return error_set(error, -EINVAL, "this event is counted on each CPU: it belongs to collectors.cpu");
}

/*
 * Finds the PMU that counts the event at the place. *ret is NULL if the event does not belong to the place, which is no
 * error. Fails, with a sentence in `error`, if it belongs to the place but cannot be counted.
 */
static int place_find_pmu(const struct place *place, const struct collector_env *env, const struct event *event,
                          const struct pmu **ret, struct error *error)
{
    if (place->kind == PLACE_CPU || place->kind == PLACE_PMU)
        return find_on_target(place, env, event, ret, error);
    if (is_found_elsewhere(place, env, event)) {
        *ret = NULL;
        return 0;
    }
    return place->kind == PLACE_NO_CPU ? explain_no_cpu(place, env->machine, event, error)
                                       : explain_no_pmu(env, event, error);
}

/* --- events of a place --- */

/*
 * Returns whether the event is meant for this place, which only a preset restricts. On a CPU it must be in the variant
 * for the CPU's core PMU, and if it is an event by name, the PMU must list it in sysfs. If no CPU is online, the last
 * variant, which is for any PMU, decides what is reported. An event whose PMU does not exist is not reported.
 */
static bool is_for_place(const struct place *place, const struct collector_env *env, const struct config_group *group,
                         const struct config_event *event)
{
    const struct pmu *core;

    if (!group->preset)
        return true;
    switch (place->kind) {
    case PLACE_CPU:
        core = machine_core_pmu(env->machine, (unsigned)place->target.cpu);
        return (event->variants >> preset_choose(group->preset, core) & 1) &&
               preset_event_is_listed(&event->event, core);
    case PLACE_PMU:
        return preset_event_is_listed(&event->event, place->pmu);
    case PLACE_NO_CPU:
        return event->variants >> (group->preset->n_variants - 1) & 1;
    case PLACE_NO_PMU:
        break;
    }
    return false;
}

static int place_events_find_event(struct place_events *events, const struct collector_env *env,
                                   const struct place *place, size_t i, struct unavailable_events *unavailable)
{
    const struct event *event = &events->group->events[i].event;
    const struct pmu *pmu = NULL;
    struct error error;
    int r = 0;

    if (is_for_place(place, env, events->group, &events->group->events[i]))
        r = place_find_pmu(place, env, event, &pmu, &error);
    if (r == 0 && !pmu)
        return 0;
    /* Reuses the attr, so that the files of a tracepoint are read once and not for every CPU. */
    if (r == 0 && events->attrs[i].pmu != pmu)
        r = attr_build(env->sys, env->machine, event, pmu, &events->attrs[i], &error);
    if (r == -ENOMEM)
        return r;
    if (r < 0) {
        /* A missing PMU does not appear by itself (-ENODEV). A file that could not be read may become readable. */
        struct unavailable_event why = {.event = i,
                                        .pmu = pmu ? pmu->name : NULL,
                                        .error = r,
                                        .span = r == -ENODEV ? REASON_LASTS : reason_span(r),
                                        .message = error.message};
        events->refused |= event_bit(i);
        return unavailable_add(unavailable, env, place->target.cpu, &events->group->events[i], why);
    }
    events->mask |= event_bit(i);
    return 0;
}

int place_events_find(struct place_events *events, const struct collector_env *env, const struct place *place,
                      struct unavailable_events *unavailable)
{
    int r = 0;

    events->mask = events->refused = 0;
    for (size_t i = 0; i < events->group->n_events && r == 0; i++)
        r = place_events_find_event(events, env, place, i, unavailable);
    return r;
}

size_t place_events_attrs(const struct place_events *events, uint64_t mask, struct attr *attrs)
{
    size_t n = 0;

    EVENTS_FOREACH (event, mask)
        attrs[n++] = events->attrs[event];
    return n;
}
