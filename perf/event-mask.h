/* SPDX-License-Identifier: Apache-2.0 */
/* Subsets of a configured group's events: bit i of a mask is the group's i-th event. */
#ifndef PERF_EVENT_MASK_H
#define PERF_EVENT_MASK_H

#include <stddef.h>
#include <stdint.h>

static inline uint64_t event_bit(size_t event)
{
    return UINT64_C(1) << event;
}

static inline size_t event_count(uint64_t mask)
{
    return (size_t)__builtin_popcountll(mask);
}

#define EVENTS_FOREACH(event, mask)                                                                                    \
    for (uint64_t event##_rest = (mask), event; event##_rest && (event = (uint64_t)__builtin_ctzll(event##_rest), 1);  \
         event##_rest &= event##_rest - 1)

#endif
