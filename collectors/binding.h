/* SPDX-License-Identifier: Apache-2.0 */
/* Those events of a configured group that are of a place, bound to the PMUs that count them there. */
#ifndef COLLECTORS_BINDING_H
#define COLLECTORS_BINDING_H

#include "collectors/place.h"

struct binding {
    const struct config_group *group;
    size_t n;
    uint8_t events[GROUP_MEMBERS_MAX]; /* of the group, ascending */
    struct attr attrs[GROUP_MEMBERS_MAX];
};

static inline uint64_t event_bit(size_t event)
{
    return UINT64_C(1) << event;
}

/* What should be counted at the place and cannot be. */
struct binding_listener {
    void *userdata;
    /* -ENOMEM ends the binding. */
    int (*refused)(void *userdata, const struct place *place, size_t event, const struct pmu *pmu, int error,
                   const char *message);
};

/*
 * Binds `group` at `place`. A binding at another place of the same PMUs is taken as it is: the files of a tracepoint
 * are read once, not for every CPU. A new one is all zero. -ENOMEM.
 */
int binding_bind(struct binding *binding, const struct collector_context *context, const struct config_group *group,
                 const struct place *place, const struct binding_listener *listener);

/* The attrs of `events` (bits), in order. -ENODEV where one of them is not bound. */
int binding_select(const struct binding *binding, uint64_t events, struct attr *attrs);

#endif
