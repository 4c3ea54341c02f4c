/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The events that the kernel names itself (include/uapi/linux/perf_event.h), under the names and aliases of
 * perf-list(1). A new one is one row.
 */
#ifndef PERF_GENERIC_EVENTS_H
#define PERF_GENERIC_EVENTS_H

#include "base/util.h"

struct generic_event {
    const char *name; /* perf's name: "cpu-cycles" is an alias of "cycles" */
    const char *aliases[3];
    uint32_t type; /* PERF_TYPE_HARDWARE or PERF_TYPE_SOFTWARE */
    uint64_t config;
    const char *metric; /* canonical: "cycles" */
    bool clock;         /* counts nanoseconds */
    const char *help;   /* a sentence with its full stop */
};

extern const struct generic_event generic_events[];
extern const size_t n_generic_events;

/* By name or alias, in any case as perf has it; NULL where there is none. */
const struct generic_event *generic_find(const char *name, size_t size);

/*
 * "r11", "r0x11": the config of a raw event. -EINVAL where the text is none, -ERANGE where it has more than 16 digits.
 */
int generic_parse_raw(const char *text, size_t size, uint64_t *ret_config);

/* By the kernel's numbers. */
const struct generic_event *generic_find_config(uint32_t type, uint64_t config);

/*
 * A cache event: "L1-dcache-load-misses", "LLC-loads", "dTLB-store-misses", "branch-load-misses", "l1d-read"...
 * False where the text is none.
 */
bool generic_parse_cache(const char *text, size_t size, uint64_t *ret_config);
/* perf's spelling of the cache event `config`, which has at most 63 characters: "L1-dcache-load-misses". */
void generic_format_cache(uint64_t config, char *text, size_t size);
/* Config and name of the n-th cache event that can exist, for lists and suggestions; false past the last. */
bool generic_find_cache(size_t n, char *text, size_t size, uint64_t *ret_config);

#endif
