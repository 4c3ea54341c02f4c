/* SPDX-License-Identifier: Apache-2.0 */
/* Writers that sum up samples: see summing.h. */
#include "formats/summing.h"

/* Some 0.1 us each. */
#define SETTLE_PER_ROUND 256
#define SETTLE_PER_POLL 8192

void *summing_begin(const struct writer_source *source, struct buffer *out)
{
    struct summing *summing = calloc(1, sizeof(*summing));

    (void)out;
    if (!summing)
        return NULL;
    summing->source = source;
    summing->profile = profile_new(source->symbols);
    if (!summing->profile) {
        free(summing);
        return NULL;
    }
    return summing;
}

/* One that finds no room is in the sum of those, and so in what is written. */
bool summing_record(void *state, const struct record *record, struct buffer *out)
{
    struct summing *summing = state;

    (void)out;
    if (record->type != PERF_RECORD_SAMPLE)
        return false;
    profile_locations(summing->profile)->full = summing->source->full;
    profile_add(summing->profile, record);
    return true;
}

void summing_round(void *state, struct buffer *out)
{
    struct summing *summing = state;

    (void)out;
    profile_settle(summing->profile, SETTLE_PER_ROUND);
}

bool summing_settled(void *state)
{
    struct summing *summing = state;

    return profile_settle(summing->profile, SETTLE_PER_POLL);
}

size_t summing_bytes(const void *state)
{
    const struct summing *summing = state;

    return profile_bytes(summing->profile);
}

void summing_free(void *state)
{
    struct summing *summing = state;

    profile_free(summing->profile);
    free(summing);
}
