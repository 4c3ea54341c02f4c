/* SPDX-License-Identifier: Apache-2.0 */
/* A configured group counted on one target: see tally.h. */
#include "collectors/tally.h"

#include <stdio.h>

#include "base/cleanup.h"
#include "collectors/part.h"
#include "perf/partition.h"
#include "perf/reason.h"

/* An event that is not counted here, with its row in the snapshot. */
struct missing {
    char *event, *metric, *pmu, *message;
    int error;
    struct row *row;
};

struct tally {
    char *signature, *name;
    int cpu;
    char *pmu; /* as place_pmu_name() has it */
    struct part *parts;
    size_t n_parts;
    struct missing *missing;
    size_t n_missing;
};

/* The members of a group that are of this CPU, bound to their PMUs. */
struct binding {
    const struct config_event *events[GROUP_MEMBERS_MAX];
    struct attr attrs[GROUP_MEMBERS_MAX];
    size_t n;
};

static void missing_done(struct missing *missing, struct snapshot *snapshot)
{
    free(missing->event);
    free(missing->metric);
    free(missing->pmu);
    free(missing->message);
    if (missing->row)
        snapshot_remove_row(snapshot, missing->row);
}

struct tally *tally_free(struct tally *tally, struct snapshot *snapshot)
{
    if (!tally)
        return NULL;
    for (size_t i = 0; i < tally->n_parts; i++)
        part_done(&tally->parts[i], snapshot);
    for (size_t i = 0; i < tally->n_missing; i++)
        missing_done(&tally->missing[i], snapshot);
    free(tally->parts);
    free(tally->missing);
    free(tally->signature);
    free(tally->name);
    free(tally->pmu);
    free(tally);
    return NULL;
}

static struct tally *tally_new(const struct config_group *group, const struct place *place)
{
    struct tally *tally = calloc(1, sizeof(*tally));

    if (!tally)
        return NULL;
    tally->cpu = place->target.cpu;
    tally->signature = strdup(group->signature);
    tally->name = strdup(group->name);
    tally->pmu = strdup(place_pmu_name(place));
    if (!tally->signature || !tally->name || !tally->pmu)
        return tally_free(tally, NULL);
    return tally;
}

/*
 * Metric and unit of an event. The caller frees the strings of `ret`: perf_COLLECTOR_EVENT[_UNIT]_total.
 */
struct naming {
    char *name, *help;
};

static void naming_done(struct naming *naming)
{
    free(naming->name);
    free(naming->help);
}

static int name_metric(const char *collector, const struct config_event *event, const char *unit, struct naming *ret)
{
    const char *separator = unit[0] ? "_" : "";

    ret->help = event->help ? strdup(event->help) : event_help(&event->event);
    if (!ret->help ||
        asprintf(&ret->name, "perf_%s_%s%s%s_total", collector, event->event.metric, separator, unit) < 0) {
        ret->name = NULL;
        return -ENOMEM;
    }
    return 0;
}

/* How a counter of this scale is served: exact decimals where the scale is a power of ten, else a double. */
static uint8_t scale_decimals(double scale)
{
    if (scale == 1.0)
        return 0;
    return scale == 1e-9 ? 9 : SERIES_REAL;
}

static int add_missing(struct tally *tally, const struct collector_context *context, const char *cgroup,
                       const struct config_event *event, const struct pmu *pmu, int error, const char *message)
{
    int r = array_grow(&tally->missing, tally->n_missing);

    if (r < 0)
        return r;
    const char *pmu_name = pmu ? pmu->name : event->event.pmu ? event->event.pmu : "";
    struct missing *missing = &tally->missing[tally->n_missing++];
    struct row_counter counter = {.event = event->event.metric, .pmu = pmu_name, .unit = ""};
    struct row_target target = {.collector = context->collector,
                                .group = tally->name,
                                .pmu = pmu_name,
                                .cgroup = cgroup,
                                .cpu = tally->cpu,
                                .error = message};
    *missing = (struct missing){
        .event = strdup(event->event.text),
        .metric = strdup(event->event.metric),
        .pmu = strdup(pmu_name),
        .message = strdup(message),
        .error = error,
        .row = snapshot_add_row(context->snapshot, &target, &counter, 1),
    };
    return missing->event && missing->metric && missing->pmu && missing->message && missing->row ? 0 : -ENOMEM;
}

static int add_refused(struct tally *tally, const struct collector_context *context, const char *cgroup,
                       const struct config_event *event, const struct pmu *pmu, int error,
                       const struct config_event *culprit)
{
    char message[512], whole[1024];

    reason_format(context->machine, pmu, error, message, sizeof(message));
    if (!culprit || culprit == event)
        return add_missing(tally, context, cgroup, event, pmu, error, message);
    snprintf(whole, sizeof(whole), "left out with its strict group, because of %s: %s", culprit->event.text, message);
    return add_missing(tally, context, cgroup, event, pmu, error, whole);
}

/* Binds one event; what should be counted here and cannot be is noted as missing. */
static int bind_event(struct tally *tally, const struct collector_context *context, const struct place *place,
                      const struct config_event *event, struct binding *binding)
{
    struct error error;
    const struct pmu *pmu = NULL;
    int r = place_bind(place, context, &event->event, &pmu, &error);

    if (r == 0 && !pmu)
        return 0;
    if (r == 0)
        r = attr_build(context->sys, context->machine, &event->event, pmu, &binding->attrs[binding->n], &error);
    if (r == -ENOMEM)
        return r;
    if (r < 0)
        return add_missing(tally, context, place->cgroup, event, pmu, r, error.message);
    binding->events[binding->n++] = event;
    return 0;
}

/* The hardware PMU of a group, else that of its first event. */
static const char *group_pmu(const struct binding *binding, const struct partition_part *opened)
{
    for (size_t i = 0; i < opened->n; i++) {
        const struct pmu *pmu = binding->attrs[opened->members[i]].pmu;
        if (pmu->scope != PMU_ANY)
            return pmu->name;
    }
    return binding->attrs[opened->members[0]].pmu->name;
}

/* "cache", then "cache-2", ...: the configuration sees to it that no other group has such a name. */
static char *name_part(const struct tally *tally)
{
    char *name;

    if (tally->n_parts == 0)
        return strdup(tally->name);
    return asprintf(&name, "%s-%zu", tally->name, tally->n_parts + 1) < 0 ? NULL : name;
}

static struct row *add_part_row(const struct collector_context *context, const struct row_target *target,
                                const struct binding *binding, const struct partition_part *opened)
{
    struct row_counter counters[GROUP_MEMBERS_MAX];
    struct naming names[GROUP_MEMBERS_MAX] = {0};
    struct row *row = NULL;
    const char *collector = context->snapshot->collector_names[context->collector];
    int r = 0;

    for (size_t i = 0; i < opened->n && r == 0; i++) {
        const struct attr *attr = &binding->attrs[opened->members[i]];
        const struct config_event *event = binding->events[opened->members[i]];
        r = name_metric(collector, event, attr->unit, &names[i]);
        counters[i] = (struct row_counter){
            .event = event->event.metric,
            .pmu = attr->pmu->name,
            .unit = attr->unit,
            .decimals = scale_decimals(attr->scale),
            .scale = attr->scale,
            .metric = {.name = names[i].name, .help = names[i].help, .unit = attr->unit, .type = METRIC_COUNTER},
        };
    }
    if (r == 0)
        row = snapshot_add_row(context->snapshot, target, counters, opened->n);
    for (size_t i = 0; i < opened->n; i++)
        naming_done(&names[i]);
    return row;
}

static uint8_t *copy_members(const struct config_group *group, const struct binding *binding,
                             const struct partition_part *opened)
{
    uint8_t *members = malloc(opened->n);

    for (size_t i = 0; members && i < opened->n; i++)
        members[i] = (uint8_t)(binding->events[opened->members[i]] - group->events);
    return members;
}

static int add_part(struct tally *tally, const struct collector_context *context, const struct config_group *group,
                    const char *cgroup, const struct binding *binding, struct partition_part *opened)
{
    _cleanup_(freep) char *name = name_part(tally);
    int r = name ? array_grow(&tally->parts, tally->n_parts) : -ENOMEM;

    if (r < 0)
        return r;
    struct part *part = &tally->parts[tally->n_parts++];
    struct row_target target = {.collector = context->collector,
                                .group = name,
                                .pmu = group_pmu(binding, opened),
                                .cgroup = cgroup,
                                .cpu = tally->cpu};
    *part = (struct part){
        .group = steal(opened->group),
        .scale = scale_new(opened->n),
        .row = add_part_row(context, &target, binding, opened),
        .members = copy_members(group, binding, opened),
    };
    return part->scale && part->row && part->members ? 0 : -ENOMEM;
}

static int open_bound(struct tally *tally, const struct collector_context *context, const struct config_group *group,
                      const struct group_target *target, const char *cgroup, const struct binding *binding)
{
    _cleanup_(partition_done) struct partition partition = {0};
    int r = partition_open(context->sys, binding->attrs, binding->n, group->strict, target, &partition);

    for (size_t i = 0; i < partition.n_parts && r == 0; i++)
        r = add_part(tally, context, group, cgroup, binding, &partition.parts[i]);
    for (size_t i = 0; i < binding->n && r == 0; i++)
        if (partition.errors[i] < 0)
            r = add_refused(tally, context, cgroup, binding->events[i], binding->attrs[i].pmu, partition.errors[i],
                            group->strict ? binding->events[partition.culprit] : NULL);
    return r;
}

int tally_open(const struct collector_context *context, const struct config_group *group, const struct place *place,
               struct tally **ret)
{
    _cleanup_(freep) struct binding *binding = calloc(1, sizeof(*binding));
    struct tally *tally = tally_new(group, place);
    int r = tally && binding ? 0 : -ENOMEM;

    for (size_t i = 0; i < group->n_events && r == 0; i++)
        r = bind_event(tally, context, place, &group->events[i], binding);
    bool refused = group->strict && tally && tally->n_missing > 0;
    if (r == 0 && binding->n > 0 && !refused)
        r = open_bound(tally, context, group, &place->target, place->cgroup, binding);
    for (size_t i = 0; refused && r == 0 && i < binding->n; i++)
        r = add_missing(tally, context, place->cgroup, binding->events[i], binding->attrs[i].pmu, -ENOENT,
                        "left out with its strict group, another event of which is not there");
    if (r < 0 || (tally->n_parts == 0 && tally->n_missing == 0)) {
        tally_free(tally, context->snapshot);
        tally = NULL;
    }
    if (r == 0)
        *ret = tally;
    return r;
}

size_t tally_collect(struct tally *tally, struct sys *sys)
{
    size_t readable = 0;

    for (size_t i = 0; i < tally->n_parts; i++)
        readable += part_collect(&tally->parts[i], sys) == 0;
    return readable;
}

bool tally_is_stale(const struct tally *tally)
{
    for (size_t i = 0; i < tally->n_parts; i++)
        if (part_is_stale(&tally->parts[i]))
            return true;
    return false;
}

void tally_park(struct tally *tally)
{
    for (size_t i = 0; i < tally->n_parts; i++)
        part_park(&tally->parts[i]);
}

static int revive_part(struct part *part, const struct collector_context *context, const struct config_group *group,
                       const struct place *place)
{
    struct attr attrs[GROUP_MEMBERS_MAX];
    const struct pmu *pmu = NULL;
    int r = 0;

    for (size_t i = 0; r == 0 && i < part->scale->n; i++) {
        const struct event *event = &group->events[part->members[i]].event;
        r = place_bind(place, context, event, &pmu, NULL);
        if (r == 0)
            r = pmu ? attr_build(context->sys, context->machine, event, pmu, &attrs[i], NULL) : -ENODEV;
    }
    return r < 0 ? r : part_reopen(part, context->sys, attrs, &place->target);
}

void tally_revive(struct tally *tally, const struct collector_context *context, const struct config_group *group,
                  const struct place *place)
{
    for (size_t i = 0; i < tally->n_parts; i++) {
        struct part *part = &tally->parts[i];
        if (part_is_stale(part))
            part_park(part);
        if (!part->group)
            revive_part(part, context, group, place);
    }
}

int tally_report(const struct tally *tally, const struct collector_context *context, struct failures *failures)
{
    for (size_t i = 0; i < tally->n_missing; i++) {
        const struct missing *missing = &tally->missing[i];
        struct failure item = {
            .collector = context->collector,
            .group = tally->name,
            .event = missing->event,
            .metric = missing->metric,
            .pmu = missing->pmu,
            .reason = (char *)reason_name(missing->error),
            .message = missing->message,
        };
        int r = failures_add(failures, &item, tally->cpu);
        if (r < 0)
            return r;
    }
    return 0;
}

bool tally_goes_on(const struct tally *tally, const char *signature, const struct place *place)
{
    return tally->cpu == place->target.cpu && tally->n_parts > 0 && str_equal(tally->pmu, place_pmu_name(place)) &&
           str_equal(tally->signature, signature);
}

void tally_count(const struct tally *tally, size_t counts[N_ROW_STATES])
{
    for (size_t i = 0; i < tally->n_parts; i++)
        counts[tally->parts[i].row->state] += !tally->parts[i].row->absent;
    if (tally->n_parts == 0)
        counts[ROW_UNAVAILABLE]++;
}
