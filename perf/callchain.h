/* SPDX-License-Identifier: Apache-2.0 */
/* The addresses of a sample's callchain, one after the other, innermost first. */
#ifndef PERF_CALLCHAIN_H
#define PERF_CALLCHAIN_H

#include "perf/record.h"

/* Whose address space an address is in. Nothing is known here of those of guests and hypervisors. */
enum address_space { SPACE_USER, SPACE_KERNEL, SPACE_OTHER };

struct callchain {
    const struct record_sample *sample;
    size_t next, start;       /* `start`: of the addresses behind the last marker */
    enum address_space space; /* of the address that callchain_next() gave last */
};

/* The address space that a record's `misc` names. */
static inline enum address_space address_space_of(const struct record *record)
{
    switch (record->misc & PERF_RECORD_MISC_CPUMODE_MASK) {
    case PERF_RECORD_MISC_KERNEL:
        return SPACE_KERNEL;
    case PERF_RECORD_MISC_USER:
        return SPACE_USER;
    default:
        return SPACE_OTHER;
    }
}

static inline struct callchain callchain_begin(const struct record *record)
{
    return (struct callchain){.sample = &record->sample, .space = address_space_of(record)};
}

/* The next address; false after the last. PERF_CONTEXT_* markers among the addresses name their address space. */
static inline bool callchain_next(struct callchain *chain, uint64_t *ret_ip)
{
    while (chain->next < chain->sample->n_callchain) {
        uint64_t ip = chain->sample->callchain[chain->next++];
        if (ip < PERF_CONTEXT_MAX) {
            *ret_ip = ip;
            return true;
        }
        chain->start = chain->next;
        chain->space = ip == PERF_CONTEXT_KERNEL ? SPACE_KERNEL : ip == PERF_CONTEXT_USER ? SPACE_USER : SPACE_OTHER;
    }
    return false;
}

/*
 * Whether the address that came last is of a caller, which goes on there after the call. The call itself ends one byte
 * before; the address may already be in another line or function.
 */
static inline bool callchain_is_caller(const struct callchain *chain)
{
    return chain->next - 1 > chain->start;
}

#endif
