/* SPDX-License-Identifier: Apache-2.0 */
/* A stream of two events as NDJSON, whose lines an independent parser reads, too. */
#ifndef TESTS_UNIT_NDJSON_STREAM_H
#define TESTS_UNIT_NDJSON_STREAM_H

#include "sampler/writer.h"
#include "symbols/kernel-view.h"
#include "tests/unit/build-record.h"

/* The start of a line of a record with the trailer of put_trailer(). */
#define WHEN ",\"time\":1699999999.000000903,\"cpu\":906"

struct ndjson_stream {
    struct perf_event_attr attr;
    struct writer_event events[2];
    struct writer_source source;
    struct kernel_view kernel;
    struct buffer out;
    void *state;
};

/* Begins a stream with these bits besides the usual ones; its first lines are in `out`. */
void ndjson_stream_begin(struct ndjson_stream *stream, uint64_t sample_type, uint64_t read_format);
void ndjson_stream_finish(struct ndjson_stream *stream);

/* Each line by itself is an object that has a type, according to an independent parser, jansson. */
void ndjson_check_lines(const struct buffer *out);
/* The output is `expected`, each of its lines an object with a type; clears it. */
void ndjson_stream_expect(struct ndjson_stream *stream, const char *expected);
/* Decodes and writes a record; `written`: it gives a line. */
void ndjson_stream_take(struct ndjson_stream *stream, struct built *built, bool written);

#endif
