/* SPDX-License-Identifier: Apache-2.0 */
/* Writers that sum up samples: see profile-writer.h. */
#include "formats/profile-writer.h"

/* The number of symbols to ask for at once; each takes about 0.1 us. */
#define SETTLE_PER_ROUND 256
#define SETTLE_PER_CALL 8192

void *profile_writer_begin(const struct writer_source *source, struct buffer *out)
{
    struct profile_writer *writer = calloc(1, sizeof(*writer));

    (void)out;
    if (!writer)
        return NULL;
    writer->source = source;
    writer->profile = profile_new(source->symbols);
    if (!writer->profile) {
        free(writer);
        return NULL;
    }
    return writer;
}

/* A sample that finds no room is counted by the profile, and so is written too. */
bool profile_writer_record(void *state, const struct record *record, struct buffer *out)
{
    struct profile_writer *writer = state;

    (void)out;
    if (record->type != PERF_RECORD_SAMPLE)
        return false;
    profile_locations(writer->profile)->full = writer->source->full;
    profile_add(writer->profile, record);
    return true;
}

void profile_writer_notice(void *state, const struct writer_notice *notice, struct buffer *out)
{
    struct profile_writer *writer = state;

    (void)out;
    if (notice->kind == WRITER_ROUND)
        profile_settle(writer->profile, SETTLE_PER_ROUND);
}

bool profile_writer_settle(void *state)
{
    struct profile_writer *writer = state;

    return profile_settle(writer->profile, SETTLE_PER_CALL);
}

size_t profile_writer_bytes(const void *state)
{
    const struct profile_writer *writer = state;

    return profile_bytes(writer->profile);
}

void profile_writer_free(void *state)
{
    struct profile_writer *writer = state;

    profile_free(writer->profile);
    free(writer);
}
