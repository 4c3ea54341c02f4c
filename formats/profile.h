/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A profile: samples summed up by call stack, from which the formats pprof and folded are written at the end.
 *
 * A stack is counted separately for each process and thread name, and if the format asks for them, for each cgroup and
 * thread. Equal stacks share their frames. Memory is bounded by PROFILE_BYTES_MAX: once half of the stacks are taken,
 * new ones are no longer separate for each thread, and a sample whose stack does not fit is counted as skipped, without
 * its stack.
 *
 * Each address is stored once, as a location. A location is not an address in a process but an offset in a mapped file,
 * expressed as an address in one common mapping of that file. It therefore keeps its meaning after the process exits,
 * executes another program, or its PID is reused. Symbols that are not known when a sample arrives are requested again
 * later.
 */
#ifndef FORMATS_PROFILE_H
#define FORMATS_PROFILE_H

#include "base/intern.h"
#include "formats/early-ends.h"
#include "perf/record.h"
#include "sampler/writer.h"
#include "symbols/symbols.h"

struct location {
    uint64_t address; /* relative to `mapping`, which stands for all processes that map the file */
    uint32_t mapping; /* index into `mappings`, or LOCATION_UNMAPPED */
    uint32_t symbol;  /* index into `strings`; 0: unknown */
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
    bool full;      /* no new entries are accepted, as if all limits were reached */
    size_t settled; /* index of the next location for locations_settle() */
};

bool location_is_kernel(const struct locations *locations, const struct location *location);
/*
 * Appends the printable name of the location's function: its symbol; else its file, as in "[libc.so.6]"; else
 * "[unknown]".
 */
void location_append_name(const struct locations *locations, const struct location *location, struct buffer *name);

#define PROFILE_STACKS_MAX 24576
#define PROFILE_DEPTH_MAX 1024 /* kernel.perf_event_max_stack is 127 by default and can be raised */
#define PROFILE_BYTES_MAX ((size_t)11 << 19)
#define PROFILE_CGROUPS_MAX 1024 /* samples of further cgroups are counted under the unknown cgroup */

struct profile;

struct profile_weight {
    uint64_t samples; /* number of samples; for off-CPU time, number of waits */
    uint64_t period;  /* number of events; nanoseconds for a clock and for off-CPU time */
};

struct profile_stack {
    uint32_t pid;              /* UINT32_MAX: unknown */
    uint32_t tid;              /* 0: the stack is from several threads */
    uint32_t comm;             /* index into the strings of the locations */
    uint32_t cgroup;           /* number of the cgroup, see profile_cgroup() */
    uint32_t state;            /* enum off_cpu_state plus 1; 0: the task ran */
    const uint32_t *locations; /* indices of locations, innermost first */
    size_t n;
    struct profile_weight weight;
};

/* What stacks are counted by, besides process, thread name and state. */
struct profile_keys {
    struct cgroup_lookup *cgroups; /* NULL: stacks of different cgroups are not separated */
    bool threads;
};

struct profile *profile_new(struct symbols *symbols, struct profile_keys keys);
struct profile *profile_free(struct profile *profile);
/* Adds a sample. Returns -ENOSPC if its stack could not be kept; the sample then counts in profile_skipped(). */
int profile_add(struct profile *profile, const struct record *record);
/*
 * Requests up to `n` symbols that were unknown when their samples were added. Call it regularly, so that little is left
 * for the end. Returns true if all locations have been visited and no symbol is pending.
 */
bool profile_settle(struct profile *profile, size_t n);
/* Requests all unknown symbols one last time. */
void profile_finish(struct profile *profile);

/* The weight of all samples, including skipped ones. */
struct profile_weight profile_total(const struct profile *profile);
struct profile_weight profile_skipped(const struct profile *profile);
/* The samples whose innermost function has no name, including skipped ones. */
void profile_unnamed(const struct profile *profile, struct writer_unnamed *ret);
/*
 * Returns the cgroup with this number, as in the member `cgroup` of a stack; numbers are from 1 to profile_n_cgroups().
 * Returns NULL for 0, which means that the cgroup is unknown.
 */
const struct found_cgroup *profile_cgroup(const struct profile *profile, uint32_t number);
size_t profile_n_cgroups(const struct profile *profile);
/* Returns the locations, which the profile owns. Callers read them, and may add strings to their table. */
struct locations *profile_locations(struct profile *profile);
/* Calls `visit` for each stack, stopping when it returns nonzero. Returns its last result. */
typedef int (*profile_visit)(void *userdata, const struct profile_stack *stack);
int profile_each(const struct profile *profile, profile_visit visit, void *userdata);
size_t profile_bytes(const struct profile *profile);

/* Counts the stacks that end early. */
void profile_count_early_ends(const struct profile *profile, struct early_ends *ret);

/*
 * The callbacks of `struct writer` for formats that write nothing before the end. They collect the samples in a
 * profile; the format supplies its own begin(), which calls profile_writer_begin(), and end().
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
