/* SPDX-License-Identifier: Apache-2.0 */
/* Writers that sum up samples: see profile-writer.h. */
#include "formats/profile-writer.h"

/* Some 0.1 us each. */
#define SETTLE_PER_ROUND 256
#define SETTLE_PER_POLL 8192

void *profile_writer_begin(const struct writer_source *source, struct buffer *out)
{
    struct profile_writer *summing = calloc(1, sizeof(*summing));

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
bool profile_writer_record(void *state, const struct record *record, struct buffer *out)
{
    struct profile_writer *summing = state;

    (void)out;
    if (record->type != PERF_RECORD_SAMPLE)
        return false;
    profile_locations(summing->profile)->full = summing->source->full;
    profile_add(summing->profile, record);
    return true;
}

void profile_writer_notice(void *state, const struct writer_notice *notice, struct buffer *out)
{
    struct profile_writer *summing = state;

    (void)out;
    if (notice->kind == WRITER_ROUND)
        profile_settle(summing->profile, SETTLE_PER_ROUND);
}

bool profile_writer_settle(void *state)
{
    struct profile_writer *summing = state;

    return profile_settle(summing->profile, SETTLE_PER_POLL);
}

size_t profile_writer_bytes(const void *state)
{
    const struct profile_writer *summing = state;

    return profile_bytes(summing->profile);
}

void profile_writer_free(void *state)
{
    struct profile_writer *summing = state;

    profile_free(summing->profile);
    free(summing);
}
