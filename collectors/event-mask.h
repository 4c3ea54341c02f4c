/* SPDX-License-Identifier: Apache-2.0 */
/* Subsets of a configured group's events: bit i of a mask is the group's i-th event. */
#ifndef COLLECTORS_EVENT_MASK_H
#define COLLECTORS_EVENT_MASK_H

#include <stddef.h>
#include <stdint.h>

static inline uint64_t event_bit(size_t event)
{
    return UINT64_C(1) << event;
}

/* The n-th event of a mask; it has more than n. */
static inline size_t event_at(uint64_t mask, size_t n)
{
    while (n--)
        mask &= mask - 1;
    return (size_t)__builtin_ctzll(mask);
}

#define EVENTS_FOREACH(event, mask)                                                                                    \
    for (uint64_t event##_rest = (mask), event; event##_rest && (event = event_at(event##_rest, 0), 1);                \
         event##_rest &= event##_rest - 1)

#endif
