/* SPDX-License-Identifier: Apache-2.0 */
/* Events bound to the PMUs that count them: see binding.h. */
#include "collectors/binding.h"

static bool is_bound_to(const struct binding *binding, size_t at, size_t event, const struct pmu *pmu)
{
    return at < binding->n && binding->events[at] == event && binding->attrs[at].pmu == pmu;
}

/* Whether all that is of the place is bound already, and to the same PMUs. */
static bool is_same(const struct binding *binding, const struct collector_context *context,
                    const struct config_group *group, const struct place *place)
{
    size_t at = 0;

    if (binding->group != group)
        return false;
    for (size_t i = 0; i < group->n_events; i++) {
        const struct pmu *pmu = NULL;
        if (place_bind(place, context, &group->events[i].event, &pmu, NULL) < 0)
            return false;
        if (pmu && !is_bound_to(binding, at++, i, pmu))
            return false;
    }
    return at == binding->n;
}

static int bind_event(struct binding *binding, const struct collector_context *context, const struct place *place,
                      size_t i, const struct binding_listener *listener)
{
    const struct event *event = &binding->group->events[i].event;
    const struct pmu *pmu = NULL;
    struct error error;
    int r = place_bind(place, context, event, &pmu, &error);

    if (r == 0 && !pmu)
        return 0;
    if (r == 0)
        r = attr_build(context->sys, context->machine, event, pmu, &binding->attrs[binding->n], &error);
    if (r == -ENOMEM)
        return r;
    if (r < 0)
        return listener->refused(listener->userdata, place, i, pmu, r, error.message);
    binding->events[binding->n++] = (uint8_t)i;
    return 0;
}

int binding_bind(struct binding *binding, const struct collector_context *context, const struct config_group *group,
                 const struct place *place, const struct binding_listener *listener)
{
    int r = 0;

    if (is_same(binding, context, group, place))
        return 0;
    binding->group = group;
    binding->n = 0;
    for (size_t i = 0; i < group->n_events && r == 0; i++)
        r = bind_event(binding, context, place, i, listener);
    return r;
}

int binding_select(const struct binding *binding, uint64_t events, struct attr *attrs)
{
    size_t n = 0;

    for (size_t i = 0; i < binding->n; i++)
        if (events & event_bit(binding->events[i])) {
            attrs[n++] = binding->attrs[i];
            events &= ~event_bit(binding->events[i]);
        }
    return events ? -ENODEV : 0;
}
