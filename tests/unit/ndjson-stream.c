/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/ndjson-stream.h"

#include <jansson.h>

#include "base/cleanup.h"
#include "formats/writers.h"
#include "tests/unit/test.h"

#define SAMPLE                                                                                                         \
    (PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU |                  \
     PERF_SAMPLE_PERIOD)

static const uint64_t cycle_ids[] = {100, 102}, instruction_ids[] = {101, 103};

void ndjson_stream_begin(struct ndjson_stream *stream, uint64_t sample_type, uint64_t read_format)
{
    *stream = (struct ndjson_stream){
        .attr = {.sample_type = SAMPLE | sample_type,
                 .read_format = read_format,
                 .freq = 1,
                 .sample_freq = 99,
                 .sample_id_all = 1},
        .kernel = {.open = true},
        .events = {{.name = "cycles", .attr = &stream->attr, .ids = cycle_ids},
                   {.name = "\"i\"", .attr = &stream->attr, .ids = instruction_ids}},
    };
    stream->source = (struct writer_source){
        .events = stream->events,
        .n_events = 2,
        .n_ids = 2,
        .n_cpus = 1, /* of two threads */
        .layout = record_layout_of(&stream->attr),
        .read = sample_type & PERF_SAMPLE_READ,
        .kernel = &stream->kernel,
        .start_realtime_ns = 1700000000 * NSEC_PER_SEC,
        .start_monotonic_ns = NSEC_PER_SEC,
        .seconds = 2.5,
    };
    stream->state = writer_ndjson.begin(&stream->source, &stream->out);
    assert_non_null(stream->state);
}

void ndjson_stream_finish(struct ndjson_stream *stream)
{
    writer_ndjson.free(stream->state);
    buffer_done(&stream->out);
}

void ndjson_check_lines(const struct buffer *out)
{
    const char *at = out->data, *end = at + out->size;
    json_error_t error;

    assert_false(out->failed);
    while (at < end) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        assert_non_null(newline);
        json_t *line = json_loadb(at, (size_t)(newline - at), JSON_REJECT_DUPLICATES, &error);
        if (!line)
            print_message("%.*s: %s\n", (int)(newline - at), at, error.text);
        assert_non_null(line);
        assert_true(json_is_string(json_object_get(line, "type")));
        json_decref(line);
        at = newline + 1;
    }
}

void ndjson_stream_expect(struct ndjson_stream *stream, const char *expected)
{
    ndjson_check_lines(&stream->out);
    buffer_append_char(&stream->out, '\0');
    assert_string_equal(stream->out.data, expected);
    buffer_clear(&stream->out);
}

void ndjson_stream_take(struct ndjson_stream *stream, struct built *built, bool written)
{
    struct record record;

    set_record_size(built->bytes, built->size);
    assert_int_equal(record_decode(built->bytes, built->size, &stream->source.layout, &record), 0);
    assert_int_equal(writer_ndjson.record(stream->state, &record, &stream->out), written);
}
