/* SPDX-License-Identifier: Apache-2.0 */
/* The events of a configured group that are not counted on a target: see unavailable.h. */
#include "collectors/unavailable.h"

#include "perf/reason.h"

static void missing_done(struct missing *missing, struct snapshot *snapshot)
{
    free(missing->text);
    free(missing->metric);
    free(missing->pmu);
    free(missing->message);
    cpuset_done(&missing->cpus);
    if (missing->row)
        snapshot_remove_row(snapshot, missing->row);
}

void missings_done(struct missings *missings, struct snapshot *snapshot)
{
    for (size_t i = 0; i < missings->n; i++)
        missing_done(&missings->items[i], snapshot);
    free(missings->items);
    *missings = (struct missings){0};
}

static struct missing *find(const struct missings *missings, const struct missing *item)
{
    for (size_t i = 0; i < missings->n; i++) {
        struct missing *other = &missings->items[i];
        if (other->event == item->event && other->cpu == item->cpu && other->error == item->error &&
            str_equal(other->pmu, item->pmu) && str_equal(other->message, item->message))
            return other;
    }
    return NULL;
}

static int append(struct missings *missings, const struct config_event *config, const struct missing *item)
{
    int r = array_grow(&missings->items, missings->n);

    if (r < 0)
        return r;
    struct missing *missing = &missings->items[missings->n++];
    *missing = (struct missing){
        .event = item->event,
        .text = strdup(config->event.text),
        .metric = strdup(config->event.metric),
        .pmu = strdup(item->pmu),
        .message = strdup(item->message),
        .error = item->error,
        .span = item->span,
        .cpu = item->cpu,
    };
    if (missing->text && missing->metric && missing->pmu && missing->message)
        return 0;
    missing_done(missing, NULL);
    missings->n--;
    return -ENOMEM;
}

int missings_add(struct missings *missings, const struct config_event *config, const struct missing *item, int at)
{
    struct missing *missing = find(missings, item);
    int r = missing ? 0 : append(missings, config, item);

    if (r < 0)
        return r;
    if (!missing)
        missing = &missings->items[missings->n - 1];
    if (at >= 0)
        return cpuset_add(&missing->cpus, (unsigned)at);
    missing->nowhere = true;
    return 0;
}

void missings_forget(struct missings *missings, uint64_t events, int at)
{
    for (size_t i = 0; i < missings->n; i++) {
        struct missing *missing = &missings->items[i];
        if (!(events & event_bit(missing->event)))
            continue;
        if (at < 0)
            missing->nowhere = false;
        else
            cpuset_remove(&missing->cpus, (unsigned)at);
    }
}

void missings_sweep(struct missings *missings, struct snapshot *snapshot)
{
    size_t n = 0;

    for (size_t i = 0; i < missings->n; i++) {
        struct missing *missing = &missings->items[i];
        if (missing->nowhere || cpuset_next(&missing->cpus, -1) >= 0)
            missings->items[n++] = *missing;
        else
            missing_done(missing, snapshot);
    }
    missings->n = n;
}

int missing_show(struct missing *missing, const struct collector_context *context, const char *group,
                 const char *cgroup, bool visible)
{
    struct row_counter counter = {.event = missing->metric, .pmu = missing->pmu, .unit = ""};
    struct row_target target = {.collector = context->collector,
                                .group = group,
                                .pmu = missing->pmu,
                                .cgroup = cgroup,
                                .cpu = missing->cpu,
                                .error = missing->message};

    if (visible == (missing->row != NULL))
        return 0;
    if (!visible) {
        snapshot_remove_row(context->snapshot, missing->row);
        missing->row = NULL;
        return 0;
    }
    missing->row = snapshot_add_row(context->snapshot, &target, &counter, 1);
    return missing->row ? 0 : -ENOMEM;
}

static int report(const struct missing *missing, const struct collector_context *context, const char *group,
                  struct failures *failures)
{
    struct failure item = {
        .collector = context->collector,
        .group = (char *)group,
        .event = missing->text,
        .metric = missing->metric,
        .pmu = missing->pmu,
        .reason = (char *)reason_name(missing->error),
        .message = missing->message,
        .span = missing->span,
    };
    int r = missing->nowhere ? failures_add(failures, &item, -1) : 0;

    for (int cpu = cpuset_next(&missing->cpus, -1); cpu >= 0 && r == 0; cpu = cpuset_next(&missing->cpus, cpu))
        r = failures_add(failures, &item, cpu);
    return r;
}

int missings_report(const struct missings *missings, const struct collector_context *context, const char *group,
                    struct failures *failures)
{
    int r = 0;

    for (size_t i = 0; i < missings->n && r == 0; i++)
        r = report(&missings->items[i], context, group, failures);
    return r;
}
