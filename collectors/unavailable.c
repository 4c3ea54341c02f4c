/* SPDX-License-Identifier: Apache-2.0 */
#include "collectors/unavailable.h"

#include "perf/reason.h"

static void unavailable_event_done(struct unavailable_event *event, struct snapshot *snapshot)
{
    cpuset_done(&event->cpus);
    if (event->row)
        snapshot_remove_row(snapshot, event->row);
}

void unavailable_done(struct unavailable_events *events, struct snapshot *snapshot)
{
    for (size_t i = 0; i < events->n; i++)
        unavailable_event_done(&events->items[i], snapshot);
    free(events->items);
    *events = (struct unavailable_events){0};
}

static struct unavailable_event *unavailable_find(const struct unavailable_events *events,
                                                  const struct unavailable_event *event)
{
    for (size_t i = 0; i < events->n; i++) {
        struct unavailable_event *other = &events->items[i];
        if (other->event == event->event && other->cpu == event->cpu && other->error == event->error &&
            str_equal(other->pmu, event->pmu) && str_equal(other->message, event->message))
            return other;
    }
    return NULL;
}

static int unavailable_append(struct unavailable_events *events, struct intern *texts,
                              const struct config_event *config, const struct unavailable_event *why)
{
    struct unavailable_event event = {
        .event = why->event,
        .text = intern_text(texts, config->event.text),
        .metric = intern_text(texts, config->event.metric),
        .pmu = intern_text(texts, why->pmu),
        .message = intern_text(texts, why->message),
        .error = why->error,
        .span = why->span,
        .cpu = why->cpu,
    };

    if (!event.text || !event.metric || !event.pmu || !event.message || array_grow(&events->items, events->n) < 0)
        return -ENOMEM;
    events->items[events->n++] = event;
    return 0;
}

int unavailable_add(struct unavailable_events *events, const struct collector_env *env, int cpu,
                    const struct config_event *config, struct unavailable_event why)
{
    if (!why.pmu)
        why.pmu = config->event.pmu ? config->event.pmu : "";
    why.cpu = events->summed ? -1 : cpu;
    struct unavailable_event *event = unavailable_find(events, &why);
    if (!event) {
        if (unavailable_append(events, &env->snapshot->texts, config, &why) < 0)
            return -ENOMEM;
        event = &events->items[events->n - 1];
    }
    if (cpu >= 0)
        return cpuset_add(&event->cpus, (unsigned)cpu);
    event->on_no_cpu = true;
    return 0;
}

void unavailable_forget(struct unavailable_events *events, uint64_t mask, int cpu)
{
    for (size_t i = 0; i < events->n; i++) {
        struct unavailable_event *event = &events->items[i];
        if (!(mask & event_bit(event->event)))
            continue;
        if (cpu < 0)
            event->on_no_cpu = false;
        else
            cpuset_remove(&event->cpus, (unsigned)cpu);
    }
}

void unavailable_sweep(struct unavailable_events *events, struct snapshot *snapshot)
{
    uint32_t n = 0;

    for (size_t i = 0; i < events->n; i++) {
        struct unavailable_event *event = &events->items[i];
        if (event->on_no_cpu || cpuset_next(&event->cpus, -1) >= 0)
            events->items[n++] = *event;
        else
            unavailable_event_done(event, snapshot);
    }
    events->n = n;
}

int unavailable_show(struct unavailable_event *event, const struct collector_env *env, const struct row_target *where,
                     bool visible)
{
    struct row_counter counter = {.event = event->metric, .pmu = event->pmu, .unit = ""};
    struct row_target target = {.collector = env->collector,
                                .group = where->group,
                                .pmu = event->pmu,
                                .cgroup = where->cgroup,
                                .names = where->names,
                                .cpu = event->cpu,
                                .error = event->message};

    if (visible == (event->row != NULL))
        return 0;
    if (!visible) {
        snapshot_remove_row(env->snapshot, event->row);
        event->row = NULL;
        return 0;
    }
    event->row = snapshot_add_row(env->snapshot, &target, &counter, 1);
    return event->row ? 0 : -ENOMEM;
}

static int unavailable_report_event(const struct unavailable_event *event, const struct collector_env *env,
                                    const char *group, struct failures *failures)
{
    struct failure failure = {
        .collector = env->collector,
        .group = group,
        .event = event->text,
        .metric = event->metric,
        .pmu = event->pmu,
        .reason = reason_name(event->error),
        .message = event->message,
        .span = event->span,
    };
    int r = event->on_no_cpu ? failures_add(failures, &failure, -1) : 0;

    for (int cpu = cpuset_next(&event->cpus, -1); cpu >= 0 && r == 0; cpu = cpuset_next(&event->cpus, cpu))
        r = failures_add(failures, &failure, cpu);
    return r;
}

int unavailable_report(const struct unavailable_events *events, const struct collector_env *env, const char *group,
                       struct failures *failures)
{
    int r = 0;

    for (size_t i = 0; i < events->n && r == 0; i++)
        r = unavailable_report_event(&events->items[i], env, group, failures);
    return r;
}
