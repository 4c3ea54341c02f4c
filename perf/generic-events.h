/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The events that the kernel itself defines (include/uapi/linux/perf_event.h), under the names and aliases of
 * perf-list(1), and the syntax of raw and cache events. To add a generic event, add a row to the table.
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

/* Finds an event by name or alias, ignoring case as perf does. Returns NULL for an unknown name. */
const struct generic_event *generic_find(const char *name, size_t size);

/*
 * Parses a raw event, "r11" or "r0x11", into its config. Returns -EINVAL if the text is not a raw event, -ERANGE if it
 * has more than 16 digits.
 */
int generic_parse_raw(const char *text, size_t size, uint64_t *ret_config);

/* Finds an event by the type and config of its perf_event_attr. Returns NULL if the table has no such event. */
const struct generic_event *generic_find_config(uint32_t type, uint64_t config);

/*
 * Parses a cache event: "L1-dcache-load-misses", "LLC-loads", "dTLB-store-misses", "branch-load-misses", "l1d-read"...
 * Returns false if the text is not one.
 */
bool generic_parse_cache(const char *text, size_t size, uint64_t *ret_config);
/* Writes perf's spelling of the cache event `config`, at most 63 characters: "L1-dcache-load-misses". */
void generic_format_cache(uint64_t config, char *text, size_t size);
/* Config and name of the n-th possible cache event, for lists and suggestions; false past the last. */
bool generic_find_cache(size_t n, char *text, size_t size, uint64_t *ret_config);

#endif
