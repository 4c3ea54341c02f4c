/* SPDX-License-Identifier: Apache-2.0 */
/* Samples in NDJSON: the fields behind type, time and CPU, which ndjson.c writes. */
#ifndef FORMATS_NDJSON_SAMPLE_H
#define FORMATS_NDJSON_SAMPLE_H

#include "sampler/writer.h"

/* Finds the events of values that were read. */
struct ndjson_ids {
    struct ndjson_id {
        uint64_t id;
        size_t event;
    } * ids; /* sorted */
    size_t n;
};

/* The ids of the source's events, in place of those that were there. -ENOMEM: then there are none. */
int ndjson_ids_load(struct ndjson_ids *ids, const struct writer_source *source);
void ndjson_ids_done(struct ndjson_ids *ids);

/* Returns how many of its addresses have no symbol yet, since their tables are still being made. */
size_t ndjson_write_sample(const struct writer_source *source, const struct ndjson_ids *ids,
                           const struct record *record, struct buffer *out);

#endif
