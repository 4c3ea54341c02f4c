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

struct sampled_events *sampled_events_ref(struct sampled_events *roster)
{
    roster->refs++;
    return roster;
}

struct sampled_events *sampled_events_unref(struct sampled_events *roster)
{
    if (!roster || --roster->refs > 0)
        return NULL;
    for (size_t i = 0; i < roster->n_events; i++)
        free((char *)roster->events[i].name);
    free(roster->events);
    free(roster->attrs);
    free(roster->ids);
    free(roster);
    return NULL;
}

static const struct perf_event_attr *find_attr(const struct lane *lane, size_t event, size_t *ret_member)
{
    for (size_t i = 0; i < lane->group.n && lane->samples; i++)
        if (lane->group.events[i] == event) {
            *ret_member = i;
            return &lane->group.attrs[i];
        }
    return NULL;
}

static const struct perf_event_attr *find_before(const struct sampled_events *before, const char *name)
{
    for (size_t i = 0; before && i < before->n_events; i++)
        if (str_equal(before->events[i].name, name))
            return before->events[i].attr;
    return NULL;
}

/* Lanes that sample nothing are of the first event: to perf, their records would be nobody's. */
static size_t put_ids(const struct lane *lane, bool has, size_t member, uint64_t *ids)
{
    size_t n = 0;

    for (size_t k = 0; k < lane->n_fds; k += lane->group.n)
        ids[n++] = has ? lane->ids[k + member] : 0;
    return n;
}

/* One event of the spec: its attr, and its id in each group that is open, 0 where it is not in one. None: no row. */
static int add_event(struct sampled_events *roster, size_t event, const char *name, struct lane *const *lanes,
                     size_t n_lanes, const struct sampled_events *before)
{
    const struct perf_event_attr *known = find_before(before, name);
    size_t n = roster->n_events;
    uint64_t *ids = roster->ids + n * roster->n_ids;

    for (size_t i = 0; i < n_lanes; i++) {
        size_t member = 0;
        const struct perf_event_attr *attr = find_attr(lanes[i], event, &member);
        known = known ? known : attr;
        ids += put_ids(lanes[i], attr || (!lanes[i]->samples && n == 0), member, ids);
    }
    if (!known)
        return 0;
    roster->attrs[n] = *known;
    char *copy = strdup(name);
    if (!copy)
        return -ENOMEM;
    roster->events[n] =
        (struct writer_event){.name = copy, .attr = &roster->attrs[n], .ids = roster->ids + n * roster->n_ids};
    roster->n_events++;
    return 0;
}

struct sampled_events *sampled_events_new(const struct event_list *events, struct lane *const *lanes, size_t n_lanes,
                                          const struct sampled_events *before)
{
    _cleanup_(sampled_events_unrefp) struct sampled_events *roster = calloc(1, sizeof(*roster));

    if (!roster)
        return NULL;
    roster->refs = 1;
    for (size_t i = 0; i < n_lanes; i++) {
        roster->n_cpus += lanes[i]->samples;
        roster->n_ids += lanes[i]->n_fds / lanes[i]->group.n;
    }
    roster->events = calloc(events->n, sizeof(*roster->events));
    roster->attrs = calloc(events->n, sizeof(*roster->attrs));
    roster->ids = calloc(events->n * MAX(roster->n_ids, 1), sizeof(*roster->ids));
    if (!roster->events || !roster->attrs || !roster->ids)
        return NULL;
    for (size_t i = 0; i < events->n; i++)
        if (add_event(roster, i, events->events[i].text, lanes, n_lanes, before) < 0)
            return NULL;
    return steal(roster);
}

void sampled_events_describe(const struct sampled_events *roster, struct writer_source *source)
{
    source->events = roster->events;
    source->n_events = roster->n_events;
    source->n_ids = roster->n_ids;
    source->n_cpus = roster->n_cpus;
}
