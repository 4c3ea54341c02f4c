/* SPDX-License-Identifier: Apache-2.0 */
/* Where an event is counted: see place.h. */
#include "collectors/place.h"

#include "perf/attr.h"

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

/* What this machine lacks is an error on each CPU; what is merely not of this CPU is none. */
static int bind_cpu(const struct place *place, const struct collector_context *context, const struct event *event,
                    const struct pmu **ret, struct error *error)
{
    const struct pmu *pmu = attr_pmu(context->machine, event, (unsigned)place->target.cpu);

    if (!pmu) {
        int r = attr_check(context->sys, context->machine, event, error);
        if (r < 0)
            return r;
    }
    *ret = pmu;
    return 0;
}

int place_bind(const struct place *place, const struct collector_context *context, const struct event *event,
               const struct pmu **ret, struct error *error)
{
    return bind_cpu(place, context, event, ret, error);
}
