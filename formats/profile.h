/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The addresses of a profile, each held once: not as the process has them, but as they are in the file that is mapped
 * there, so that they mean the same after the process has ended, runs another program, or another process has its
 * number. A symbol that is not known yet is asked for again. Bounded.
 *
 * Samples summed up by stack, for pprof and folded stacks. A stack is counted once for each process and name of a
 * thread. Bounded to PROFILE_BYTES_MAX: samples that find no room are counted, but their stacks are not kept.
 *
 * The functions of writers that write nothing before the end: until then they sum up samples in a profile.
 */
#ifndef FORMATS_PROFILE_H
#define FORMATS_PROFILE_H

#include "base/intern.h"
#include "perf/record.h"
#include "sampler/writer.h"
#include "symbols/symbols.h"

struct location {
    uint64_t address; /* as if the file were at the same place in each process, the one of `mapping` */
    uint32_t mapping; /* an index of the mappings; LOCATION_UNMAPPED */
    uint32_t symbol;  /* a number of the strings; 0: not known */
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
    bool full;      /* nothing new is kept, as if it were at its limits */
    size_t settled; /* how far locations_settle() has come */
};

bool location_is_kernel(const struct locations *locations, const struct location *location);
/* Appends the name of its function: its symbol, or its file as in "[libc.so.6]", or "[unknown]"; printable. */
void location_append_name(const struct locations *locations, const struct location *location, struct buffer *name);

#define PROFILE_STACKS_MAX 24576
#define PROFILE_DEPTH_MAX 1024 /* kernel.perf_event_max_stack is 127, and may be set higher */
#define PROFILE_BYTES_MAX ((size_t)5 << 20)

struct profile;

struct profile_weight {
    uint64_t samples, period;
};

struct profile_stack {
    uint32_t pid;              /* UINT32_MAX if not known */
    uint32_t comm;             /* a number of the locations' strings */
    const uint32_t *locations; /* innermost first */
    size_t n;
    struct profile_weight weight;
};

struct profile *profile_new(struct symbols *symbols);
struct profile *profile_free(struct profile *profile);
/* Adds a sample. -ENOSPC if there is no room: then it is counted in profile_skipped(). */
int profile_add(struct profile *profile, const struct record *record);
/*
 * Asks for up to `n` symbols that were not known when their samples were added; called now and then, so that little is
 * left for the end. Returns whether it has gone through all, and no symbol is pending.
 */
bool profile_settle(struct profile *profile, size_t n);
/* Asks for all symbols that are not known, once more. */
void profile_finish(struct profile *profile);

/* The weight of all samples that were added, skipped ones included. */
struct profile_weight profile_total(const struct profile *profile);
struct profile_weight profile_skipped(const struct profile *profile);
/* Owned by the profile; for reading, and to add texts. */
struct locations *profile_locations(struct profile *profile);
/* Calls `visit` for each stack until it returns other than 0; returns that. */
typedef int (*profile_visit)(void *userdata, const struct profile_stack *stack);
int profile_each(const struct profile *profile, profile_visit visit, void *userdata);
size_t profile_bytes(const struct profile *profile);

struct profile_writer {
    const struct writer_source *source;
    struct profile *profile;
};

void *profile_writer_begin(const struct writer_source *source, struct buffer *out);
bool profile_writer_record(void *state, const struct record *record, struct buffer *out);
void profile_writer_notice(void *state, const struct writer_notice *notice, struct buffer *out);
bool profile_writer_settle(void *state);
size_t profile_writer_bytes(const void *state);
void profile_writer_free(void *state);

#endif
