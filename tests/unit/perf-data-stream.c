/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/perf-data-stream.h"

#include "base/cleanup.h"
#include "formats/writers.h"
#include "tests/unit/test.h"

const uint64_t perf_data_cycle_ids[] = {100, 102}, perf_data_instruction_ids[] = {101, 103};

int perf_data_setup(void **state)
{
    struct perf_data_stream *stream = calloc(1, sizeof(*stream));
    struct perf_event_attr *attr = &stream->attr;

    stream->fake = fake_sys_new();
    attr->size = sizeof(*attr);
    attr->config = PERF_COUNT_HW_CPU_CYCLES;
    attr->sample_type = PERF_DATA_SAMPLE;
    attr->read_format = PERF_FORMAT_GROUP | PERF_FORMAT_ID;
    attr->sample_period = 99;
    attr->freq = 1;
    attr->sample_id_all = 1;
    stream->member.size = 64;
    stream->member.config = PERF_COUNT_HW_INSTRUCTIONS;
    stream->events[0] = (struct writer_event){.name = "cycles", .attr = attr, .ids = perf_data_cycle_ids};
    stream->events[1] =
        (struct writer_event){.name = "instructions", .attr = &stream->member, .ids = perf_data_instruction_ids};
    stream->source = (struct writer_source){
        .events = stream->events,
        .n_events = 2,
        .n_ids = 2,
        .layout = record_layout_of(attr),
        .read = true,
        .sys = &stream->fake->sys,
        .kernel = &stream->kernel,
        .start_realtime_ns = 1700000000 * NSEC_PER_SEC,
        .start_monotonic_ns = 5,
        .seconds = 1,
    };
    stream->kernel = (struct kernel_view){.sys = &stream->fake->sys, .open = true};
    *state = stream;
    return 0;
}

int perf_data_teardown(void **state)
{
    struct perf_data_stream *stream = *state;

    writer_perf_data.free(stream->state);
    buffer_done(&stream->out);
    kernel_view_done(&stream->kernel);
    fake_sys_free(stream->fake);
    free(stream);
    return 0;
}

void perf_data_split(struct perf_data_stream *stream, size_t at)
{
    stream->n = 0;
    assert_false(stream->out.failed);
    while (at < stream->out.size) {
        struct perf_event_header header;
        assert_true(stream->out.size - at >= sizeof(header));
        memcpy(&header, stream->out.data + at, sizeof(header));
        assert_true(header.size >= sizeof(header) && header.size % 8 == 0);
        assert_true(header.size <= stream->out.size - at);
        assert_true(stream->n < PERF_DATA_RECORDS_MAX);
        stream->records[stream->n].type = header.type;
        stream->records[stream->n].misc = header.misc;
        stream->records[stream->n].size = header.size;
        stream->records[stream->n++].body = (const unsigned char *)stream->out.data + at + sizeof(header);
        at += header.size;
    }
}

void perf_data_begin(struct perf_data_stream *stream)
{
    static const unsigned char magic[] = "PERFILE2\x10\0\0\0\0\0\0";

    stream->state = writer_perf_data.begin(&stream->source, &stream->out);
    assert_non_null(stream->state);
    assert_true(stream->out.size > 16);
    assert_memory_equal(stream->out.data, magic, 16);
    perf_data_split(stream, 16);
}

uint64_t perf_data_word(const unsigned char *bytes, size_t at)
{
    uint64_t value;

    memcpy(&value, bytes + at, sizeof(value));
    return value;
}

uint32_t perf_data_half(const unsigned char *bytes, size_t at)
{
    uint32_t value;

    memcpy(&value, bytes + at, sizeof(value));
    return value;
}

size_t perf_data_find(const struct perf_data_stream *stream, uint32_t type, size_t n)
{
    for (size_t i = 0; i < stream->n; i++)
        if (stream->records[i].type == type && n-- == 0)
            return i;
    fail_msg("there is no such record of type %u", type);
    return 0;
}

size_t perf_data_count(const struct perf_data_stream *stream, uint32_t type)
{
    size_t n = 0;

    for (size_t i = 0; i < stream->n; i++)
        n += stream->records[i].type == type;
    return n;
}

const unsigned char *perf_data_feature(const struct perf_data_stream *stream, uint64_t number)
{
    for (size_t i = 0; i < stream->n; i++)
        if (stream->records[i].type == 80 && perf_data_word(stream->records[i].body, 0) == number)
            return stream->records[i].body + 8;
    fail_msg("there is no feature %d", (int)number);
    return NULL;
}
