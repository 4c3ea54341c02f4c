/* SPDX-License-Identifier: Apache-2.0 */
/* The events of a configured group that a place counts: see place-events.h. */
#include "collectors/place-events.h"

static int find_event(struct place_events *events, const struct collector_context *context, const struct place *place,
                      size_t i, struct unavailable_events *unavailable)
{
    const struct event *event = &events->group->events[i].event;
    const struct pmu *pmu = NULL;
    struct error error;
    int r = place_find_pmu(place, context, event, &pmu, &error);

    if (r == 0 && !pmu)
        return 0;
    /* The files of a tracepoint are read once, not for every CPU. */
    if (r == 0 && events->attrs[i].pmu != pmu)
        r = attr_build(context->sys, context->machine, event, pmu, &events->attrs[i], &error);
    if (r == -ENOMEM)
        return r;
    if (r < 0) {
        /* A PMU that is missing does not come by itself; a file that could not be read may be read later. */
        struct unavailable_event why = {.event = i,
                                        .pmu = pmu ? pmu->name : NULL,
                                        .error = r,
                                        .span = r == -ENODEV ? REASON_LASTS : reason_span(r),
                                        .message = error.message};
        events->refused |= event_bit(i);
        return unavailable_add(unavailable, context, place, &events->group->events[i], why);
    }
    events->mask |= event_bit(i);
    return 0;
}

int place_events_find(struct place_events *events, const struct collector_context *context, const struct place *place,
                      struct unavailable_events *unavailable)
{
    int r = 0;

    events->mask = events->refused = 0;
    for (size_t i = 0; i < events->group->n_events && r == 0; i++)
        r = find_event(events, context, place, i, unavailable);
    return r;
}

size_t place_events_attrs(const struct place_events *events, uint64_t mask, struct attr *attrs)
{
    size_t n = 0;

    EVENTS_FOREACH (event, mask)
        attrs[n++] = events->attrs[event];
    return n;
}
