/* SPDX-License-Identifier: Apache-2.0 */
/* The events that a capture has open: see sampled-events.h. */
#include "sampler/sampled-events.h"

#include "base/cleanup.h"

struct sampled_events {
    unsigned refs;
    struct writer_event *events; /* names are owned */
    struct perf_event_attr *attrs;
    uint64_t *ids;
    size_t n_events, n_ids, n_cpus;
};

DEFINE_CLEANUP(struct sampled_events *, sampled_events_unref);

struct sampled_events *sampled_events_ref(struct sampled_events *sampled)
{
    sampled->refs++;
    return sampled;
}

struct sampled_events *sampled_events_unref(struct sampled_events *sampled)
{
    if (!sampled || --sampled->refs > 0)
        return NULL;
    for (size_t i = 0; i < sampled->n_events; i++)
        free((char *)sampled->events[i].name);
    free(sampled->events);
    free(sampled->attrs);
    free(sampled->ids);
    free(sampled);
    return NULL;
}

static const struct perf_event_attr *lane_attr(const struct lane *lane, size_t event, size_t *ret_member)
{
    for (size_t i = 0; i < lane->group.n && lane->samples; i++)
        if (lane->group.events[i] == event) {
            *ret_member = i;
            return &lane->group.attrs[i];
        }
    return NULL;
}

static const struct perf_event_attr *sampled_events_attr(const struct sampled_events *before, const char *name)
{
    for (size_t i = 0; before && i < before->n_events; i++)
        if (str_equal(before->events[i].name, name))
            return before->events[i].attr;
    return NULL;
}

/* Lanes that only track have ids of the first event: perf needs an event for each record. */
static size_t lane_copy_ids(const struct lane *lane, bool has, size_t member, uint64_t *ids)
{
    size_t n = 0;

    for (size_t k = 0; k < lane->n_fds; k += lane->group.n)
        ids[n++] = has ? lane->ids[k + member] : 0;
    return n;
}

/* One event of the spec: its attr, and its id in each group that is open; 0 where the group does not have it. */
static int sampled_events_add(struct sampled_events *sampled, size_t event, const char *name, struct lane *const *lanes,
                              size_t n_lanes, const struct sampled_events *before)
{
    const struct perf_event_attr *known = sampled_events_attr(before, name);
    size_t n = sampled->n_events;
    uint64_t *ids = sampled->ids + n * sampled->n_ids;

    for (size_t i = 0; i < n_lanes; i++) {
        size_t member = 0;
        const struct perf_event_attr *attr = lane_attr(lanes[i], event, &member);
        known = known ? known : attr;
        ids += lane_copy_ids(lanes[i], attr || (!lanes[i]->samples && n == 0), member, ids);
    }
    if (!known)
        return 0;
    sampled->attrs[n] = *known;
    char *copy = strdup(name);
    if (!copy)
        return -ENOMEM;
    sampled->events[n] =
        (struct writer_event){.name = copy, .attr = &sampled->attrs[n], .ids = sampled->ids + n * sampled->n_ids};
    sampled->n_events++;
    return 0;
}

struct sampled_events *sampled_events_new(const struct event_list *events, struct lane *const *lanes, size_t n_lanes,
                                          const struct sampled_events *before)
{
    _cleanup_(sampled_events_unrefp) struct sampled_events *sampled = calloc(1, sizeof(*sampled));

    if (!sampled)
        return NULL;
    sampled->refs = 1;
    for (size_t i = 0; i < n_lanes; i++) {
        sampled->n_cpus += lanes[i]->samples;
        sampled->n_ids += lanes[i]->n_fds / lanes[i]->group.n;
    }
    sampled->events = calloc(events->n, sizeof(*sampled->events));
    sampled->attrs = calloc(events->n, sizeof(*sampled->attrs));
    sampled->ids = calloc(events->n * MAX(sampled->n_ids, 1), sizeof(*sampled->ids));
    if (!sampled->events || !sampled->attrs || !sampled->ids)
        return NULL;
    for (size_t i = 0; i < events->n; i++)
        if (sampled_events_add(sampled, i, events->events[i].text, lanes, n_lanes, before) < 0)
            return NULL;
    return steal(sampled);
}

void sampled_events_describe(const struct sampled_events *sampled, struct writer_source *source)
{
    source->events = sampled->events;
    source->n_events = sampled->n_events;
    source->n_ids = sampled->n_ids;
    source->n_cpus = sampled->n_cpus;
}
