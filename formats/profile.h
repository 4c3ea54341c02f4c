/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples summed up by stack, for the formats that show a whole: pprof and folded stacks. Stacks of a process that are
 * equal are one, of threads of the same name. Bounded to PROFILE_BYTES_MAX: what finds no room is counted, not kept.
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
    uint32_t pid;              /* UINT32_MAX where not known */
    uint32_t comm;             /* a text of the locations' strings */
    const uint32_t *locations; /* innermost first; where none is known, none */
    size_t n;
    struct profile_weight sum;
};

struct profile *profile_new(struct symbols *symbols);
struct profile *profile_free(struct profile *profile);
/* Adds a sample; -ENOSPC where the profile is full: it is counted in profile_skipped(). */
int profile_add(struct profile *profile, const struct record *record);
/*
 * Resolves what had no symbol when it was added, up to `n` of them; called now and then, so that little is left for the
 * end. Whether it has been through all, and nothing more will come.
 */
bool profile_settle(struct profile *profile, size_t n);
/* The same for all, once more. */
void profile_finish(struct profile *profile);

/* All that were added, those that were skipped among them. */
struct profile_weight profile_total(const struct profile *profile);
struct profile_weight profile_skipped(const struct profile *profile);
/* To read the locations, and to add texts; the profile's. */
struct locations *profile_locations(struct profile *profile);
/* Stops where `visit` returns other than 0, and returns that. */
typedef int (*profile_visit)(void *userdata, const struct profile_stack *stack);
int profile_each(const struct profile *profile, profile_visit visit, void *userdata);
size_t profile_bytes(const struct profile *profile);

#endif
