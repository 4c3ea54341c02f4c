/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples summed up by stack, for pprof and folded stacks. A stack is counted once for each process and name of a
 * thread. Bounded to PROFILE_BYTES_MAX: samples that find no room are counted, but their stacks are not kept.
 */
#ifndef FORMATS_PROFILE_H
#define FORMATS_PROFILE_H

#include "formats/locations.h"
#include "sampler/writer.h"

#define PROFILE_STACKS_MAX 24576
#define PROFILE_FRAMES_MAX (256 * 1024) /* of all stacks */
#define PROFILE_DEPTH_MAX 1024          /* kernel.perf_event_max_stack is 127, and may be set higher */
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

#endif
