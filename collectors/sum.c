/* SPDX-License-Identifier: Apache-2.0 */
/* A row of the snapshot and the parts that are added up in it: see sum.h. */
#include "collectors/sum.h"

#include <stdio.h>

#include "base/cleanup.h"

/* Name and help of a metric, perf_COLLECTOR_EVENT[_UNIT]_total. */
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

/* "cache", then "cache-2", ...: the configuration sees to it that no other group has such a name. */
static char *name_row(const struct sum_key *key)
{
    char *name;

    if (key->ordinal == 1)
        return strdup(key->group);
    return asprintf(&name, "%s-%u", key->group, key->ordinal) < 0 ? NULL : name;
}

static struct row *add_row(const struct collector_context *context, const struct binding *binding,
                           const struct sum_key *key, uint64_t members, uint64_t created_ns)
{
    _cleanup_(freep) char *name = name_row(key);
    struct row_target target = {.collector = context->collector,
                                .group = name,
                                .pmu = key->pmu,
                                .cgroup = key->cgroup,
                                .cpu = key->cpu,
                                .created_ns = created_ns};
    struct row_counter counters[GROUP_MEMBERS_MAX];
    struct naming names[GROUP_MEMBERS_MAX] = {0};
    const char *collector = context->snapshot->collector_names[context->collector];
    struct row *row = NULL;
    size_t n = 0;
    int r = name ? 0 : -ENOMEM;

    for (size_t i = 0; i < binding->n && r == 0; i++) {
        const struct attr *attr = &binding->attrs[i];
        const struct config_event *event = &binding->group->events[binding->events[i]];
        if (!(members & event_bit(binding->events[i])))
            continue;
        r = name_metric(collector, event, attr->unit, &names[n]);
        counters[n] = (struct row_counter){
            .event = event->event.metric,
            .pmu = key->own_pmu ? attr->pmu->name : key->pmu,
            .unit = attr->unit,
            .decimals = scale_decimals(attr->scale),
            .scale = attr->scale,
            .metric = {.name = names[n].name, .help = names[n].help, .unit = attr->unit, .type = METRIC_COUNTER},
        };
        n++;
    }
    if (r == 0)
        row = snapshot_add_row(context->snapshot, &target, counters, n);
    for (size_t i = 0; i < n; i++)
        naming_done(&names[i]);
    return row;
}

int sum_init(struct sum *sum, const struct collector_context *context, const struct binding *binding,
             const struct sum_key *key, uint64_t members)
{
    /* Cgroups come and go, and Prometheus cannot see that a series began at 0. */
    uint64_t created_ns = key->cgroup ? context->sys->now(context->sys, CLOCK_REALTIME) : 0;
    struct row *row = add_row(context, binding, key, members, created_ns);

    if (!row)
        return -ENOMEM;
    *sum = (struct sum){
        .row = row,
        .members = members,
        .first = SUM_END,
        .ordinal = key->ordinal,
        .created_ns = created_ns,
    };
    return 0;
}

int sum_widen(struct sum *sum, const struct collector_context *context, const struct binding *binding,
              const struct sum_key *key, uint64_t members)
{
    struct row *row = add_row(context, binding, key, members, sum->created_ns);

    if (!row)
        return -ENOMEM;
    snapshot_remove_row(context->snapshot, sum->row);
    sum->row = row;
    sum->members = members;
    return 0;
}

void sum_done(struct sum *sum, struct snapshot *snapshot)
{
    if (sum->row)
        snapshot_remove_row(snapshot, sum->row);
    *sum = (struct sum){0};
}

void sum_add_part(struct sum *sum, struct part *parts, uint32_t part)
{
    parts[part].next = sum->first;
    sum->first = part;
}

/* What the parts of a row come to. */
struct total {
    struct fixed value;
    uint64_t raw;
    bool known;
};

struct totals {
    size_t news[N_PART_NEWS];
    int error; /* of a part that cannot be read */
    struct scale_times times;
    struct total counters[GROUP_MEMBERS_MAX];
};

static bool is_blind(const struct part *part)
{
    return part->news == PART_STARVED || part->news == PART_STALE;
}

/* A part has the events of the row, or, where its CPU lacks some, a few of them. */
static void add_counters(struct totals *totals, const struct part *part, uint64_t members)
{
    bool known = part->scale->ran || !is_blind(part);
    size_t k = 0;

    for (struct total *total = totals->counters; members; total++, members &= members - 1) {
        if (!(part->members & members & -members))
            continue;
        const struct scale_counter *counter = &part->scale->counters[k++];
        total->value = fixed_add(total->value, counter->total);
        total->raw += counter->raw;
        total->known |= known;
    }
}

static void add_part(struct totals *totals, const struct part *part, uint64_t members)
{
    struct scale_times times = scale_times(part->scale);

    totals->times.enabled += times.enabled;
    totals->times.running += times.running;
    totals->news[part->news]++;
    if (is_blind(part) && part->error)
        totals->error = part->error;
    add_counters(totals, part, members);
}

/*
 * Nothing is known where no part ran of those that were enabled. A CPU that went away says nothing while others are
 * there. Where nothing happened at all the state stays what it was.
 */
static enum row_state state_of(const struct totals *totals, enum row_state before)
{
    const size_t *news = totals->news;
    size_t ran = news[PART_COUNTED] + news[PART_MULTIPLEXED];

    if (ran > 0)
        return news[PART_MULTIPLEXED] + news[PART_STARVED] > 0 ? ROW_MULTIPLEXED : ROW_COUNTING;
    if (news[PART_STARVED] > 0 || (news[PART_STALE] > 0 && news[PART_IDLE] == 0))
        return ROW_STARVED;
    return before == ROW_STARVED && news[PART_IDLE] > 0 ? ROW_COUNTING : before;
}

/* Why a part is blind. */
static const struct {
    int error;
    const char *cause;
} causes[] = {
    {0, "it did not run since the reading before: other groups or programs hold the counters it needs"},
    {-ENODATA,
     "it is pinned and found no counter, because something else holds it; it is enabled again from time to time"},
    {-EBADMSG, "its CPU went away; it is opened anew"},
    {-ESTALE, "its CPU went away; it is opened anew"},
};

static const char *cause_of(int error)
{
    for (size_t i = 0; i < ARRAY_SIZE(causes); i++)
        if (causes[i].error == error)
            return causes[i].cause;
    return "the kernel refused to open or to read it";
}

static void update_counter(struct counter *counter, const struct total *total, bool visible)
{
    if (counter->decimals == SERIES_REAL)
        series_set_real(counter->series, fixed_real(total->value) * counter->scale);
    else
        series_set(counter->series, total->value.whole);
    counter->series->visible = visible;
    counter->value = counter->series->value;
    counter->raw = total->raw;
    counter->known = total->known;
}

void sum_update(struct sum *sum, const struct part *parts)
{
    struct row *row = sum->row;
    struct totals totals;

    if (row->absent)
        return;
    memset(&totals, 0, offsetof(struct totals, counters) + row->n_counters * sizeof(totals.counters[0]));
    for (uint32_t i = sum->first; i != SUM_END; i = parts[i].next)
        add_part(&totals, &parts[i], sum->members);
    row->state = state_of(&totals, row->state);
    row->cause = row->state == ROW_STARVED ? cause_of(totals.error) : NULL;
    row->enabled_ns = totals.times.enabled;
    row->running_ns = totals.times.running;
    series_set(row->enabled, totals.times.enabled);
    series_set(row->running, totals.times.running);
    for (size_t i = 0; i < row->n_counters; i++) {
        const struct total *total = &totals.counters[i];
        update_counter(&row->counters[i], total, total->known && row->state != ROW_STARVED);
    }
}

void sum_check(struct sum *sum, const struct part *parts)
{
    struct row *row = sum->row;
    bool away = row->cpu >= 0;

    for (uint32_t i = sum->first; i != SUM_END; i = parts[i].next)
        away &= parts[i].news == PART_AWAY;
    row->absent = away;
    if (!away)
        return;
    row->enabled->visible = row->running->visible = false;
    for (size_t i = 0; i < row->n_counters; i++)
        row->counters[i].series->visible = false;
}
