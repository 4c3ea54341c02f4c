/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A profile: samples aggregated by call stack, and written at the end as pprof or as folded stacks.
 *
 * A stack is counted separately for each process and thread name and, if the format asks for it, for each cgroup and
 * thread. Equal stacks share their frames. Memory is bounded by PROFILE_BYTES_MAX: once half of the room for stacks is
 * in use, new stacks are no longer separated by thread, and a sample whose stack does not fit is only counted as
 * skipped.
 *
 * Each address is stored once, as a location. A location is not an address in a process but an offset in a mapped file,
 * expressed as an address in one common mapping of that file. A location therefore stays valid after the process exits
 * or executes another program, or its PID is reused. Symbols that are not known when a sample arrives are requested
 * again later.
 */
#ifndef FORMATS_PROFILE_H
#define FORMATS_PROFILE_H

#include "base/intern.h"
#include "formats/early-ends.h"
#include "perf/record.h"
#include "sampler/writer.h"
#include "symbols/symbols.h"

struct location {
    uint64_t address; /* address in `mapping`, which stands for all processes that map the file */
    uint32_t mapping; /* index into `mappings`, or LOCATION_UNMAPPED */
    uint32_t symbol;  /* symbol, as an index into `strings`; 0 if unknown */
};
#define LOCATION_UNMAPPED UINT32_MAX

struct locations {
    struct symbols *symbols;
    struct string_table strings;
    struct location *locations;
    size_t n;
    struct symbols_kept *mappings;
    size_t n_mappings;
    struct hash_index index, mapping_index;
    bool full;      /* accept no new locations, as if all limits were reached */
    size_t settled; /* index of the next location that locations_settle() visits */
};

bool location_is_kernel(const struct locations *locations, const struct location *location);
/*
 * Appends the printable name of the location's function: the symbol; else the file, as in "[libc.so.6]"; else
 * "[unknown]".
 */
void location_append_name(const struct locations *locations, const struct location *location, struct buffer *name);

#define PROFILE_STACKS_MAX 24576
#define PROFILE_DEPTH_MAX 1024 /* maximum depth of a stack; kernel.perf_event_max_stack is 127 by default */
#define PROFILE_BYTES_MAX ((size_t)11 << 19)
#define PROFILE_CGROUPS_MAX 1024 /* maximum number of cgroups; further cgroups are counted as unknown */

struct profile;

struct profile_weight {
    uint64_t samples; /* number of samples; for off-CPU time, number of waits */
    uint64_t period;  /* number of events; for a clock and for off-CPU time, nanoseconds */
};

struct profile_stack {
    uint32_t pid;              /* UINT32_MAX for an unknown process */
    uint32_t tid;              /* 0 if the stack was sampled in several threads */
    uint32_t comm;             /* thread name, as an index into locations.strings */
    uint32_t cgroup;           /* number of the cgroup, as in profile_cgroup() */
    uint32_t state;            /* enum off_cpu_state plus 1; 0 for samples of a running task */
    const uint32_t *locations; /* indices of locations, innermost first */
    size_t n;
    struct profile_weight weight;
};

/* The properties by which stacks are separated, besides process, thread name and state. */
struct profile_keys {
    struct cgroup_lookup *cgroups; /* NULL if stacks of different cgroups are not separated */
    bool threads;
};

struct profile *profile_new(struct symbols *symbols, struct profile_keys keys);
struct profile *profile_free(struct profile *profile);
/* Adds a sample. Returns -ENOSPC if its stack could not be kept; the sample then counts in profile_skipped(). */
int profile_add(struct profile *profile, const struct record *record);
/*
 * Requests at most `n` symbols that were unknown when their samples were added. Should be called regularly, so that
 * little work is left for the end. Returns true if all locations have been visited and no symbol is pending.
 */
bool profile_settle(struct profile *profile, size_t n);
/* Requests all unknown symbols one last time. */
void profile_finish(struct profile *profile);

/* Returns the weight of all samples, including skipped ones. */
struct profile_weight profile_total(const struct profile *profile);
struct profile_weight profile_skipped(const struct profile *profile);
/* Counts the samples whose innermost function has no name, including skipped samples. */
void profile_unnamed(const struct profile *profile, struct writer_unnamed *ret);
/*
 * Returns the cgroup with a number from a stack's member `cgroup`: 1 to profile_n_cgroups(), or NULL for 0, an unknown
 * cgroup.
 */
const struct found_cgroup *profile_cgroup(const struct profile *profile, uint32_t number);
size_t profile_n_cgroups(const struct profile *profile);
/*
 * Returns the locations, which the profile owns. Callers may read the locations, and may add strings to the string
 * table.
 */
struct locations *profile_locations(struct profile *profile);
/* Calls `visit` for each stack, and stops when it returns nonzero. Returns the last result of `visit`. */
typedef int (*profile_visit)(void *userdata, const struct profile_stack *stack);
int profile_each(const struct profile *profile, profile_visit visit, void *userdata);
size_t profile_bytes(const struct profile *profile);

/* Adds the stacks that end early to `ret`. */
void profile_count_early_ends(const struct profile *profile, struct early_ends *ret);

/*
 * The callbacks of `struct writer` for formats that write nothing before the end, which collect the samples in a
 * profile. Such a format has its own end(), and a begin() that calls profile_writer_begin().
 */
struct profile_writer {
    const struct writer_source *source;
    struct profile *profile;
};

void *profile_writer_begin(const struct writer_source *source, struct profile_keys keys);
bool profile_writer_record(void *state, const struct record *record, struct buffer *out);
void profile_writer_mark(void *state, const struct writer_mark *mark, struct buffer *out);
bool profile_writer_settle(void *state);
size_t profile_writer_bytes(const void *state);
void profile_writer_unnamed(const void *state, struct writer_unnamed *ret);
void profile_writer_early_ends(const void *state, struct buffer *sentence);
void profile_writer_free(void *state);

#endif
