/* SPDX-License-Identifier: Apache-2.0 */
/* What the writers that write nothing before the end have in common: they sum up samples. */
#ifndef FORMATS_SUMMING_H
#define FORMATS_SUMMING_H

#include "formats/profile.h"
#include "sampler/writer.h"

struct summing {
    const struct writer_source *source;
    struct profile *profile;
};

/* As a writer has them. */
void *summing_begin(const struct writer_source *source, struct buffer *out);
bool summing_record(void *state, const struct record *record, struct buffer *out);
void summing_round(void *state, struct buffer *out);
bool summing_settled(void *state);
size_t summing_bytes(const void *state);
void summing_free(void *state);

#endif
