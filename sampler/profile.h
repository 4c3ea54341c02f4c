/* SPDX-License-Identifier: Apache-2.0 */
/* Samples summed up by stack, for the formats that show a whole: pprof and folded stacks. Bounded. */
#ifndef SAMPLER_PROFILE_H
#define SAMPLER_PROFILE_H

#include "sampler/writer.h"

struct profile;

struct profile_stack {
    uint32_t pid, tid;
    char comm[16];
    const uint64_t *ips; /* innermost first */
    const bool *kernel;  /* of each */
    size_t n;
    uint64_t samples, period; /* sums */
};

struct profile *profile_new(struct symbols *symbols);
struct profile *profile_free(struct profile *profile);
/* Adds a sample; -ENOSPC where the profile is full: it is counted in profile_skipped(). */
int profile_add(struct profile *profile, const struct record *record);
uint64_t profile_skipped(const struct profile *profile);
void profile_each(const struct profile *profile, void (*visit)(void *userdata, const struct profile_stack *stack),
                  void *userdata);

#endif
