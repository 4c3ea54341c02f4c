/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of writers that write nothing before the end: until then they sum up samples in a profile. */
#ifndef FORMATS_PROFILE_WRITER_H
#define FORMATS_PROFILE_WRITER_H

#include "formats/profile.h"
#include "sampler/writer.h"

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
