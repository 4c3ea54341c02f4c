/* SPDX-License-Identifier: Apache-2.0 */
/* A stream in perf's format, of two events on a machine that is played, cut into its records. */
#ifndef TESTS_UNIT_PERF_DATA_STREAM_H
#define TESTS_UNIT_PERF_DATA_STREAM_H

#include "sampler/writer.h"
#include "symbols/kernel-view.h"
#include "tests/unit/fake-sys.h"

#define PERF_DATA_SAMPLE                                                                                               \
    (PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU)
#define PERF_DATA_RECORDS_MAX 64

extern const uint64_t perf_data_cycle_ids[2], perf_data_instruction_ids[2];

/* The records are those behind the header of the stream. */
struct perf_data_stream {
    struct fake_sys *fake;
    struct perf_event_attr attr, member;
    struct writer_event events[2];
    struct writer_source source;
    struct kernel_view kernel;
    struct buffer out;
    void *state;
    struct {
        uint32_t type;
        uint16_t misc, size;
        const unsigned char *body;
    } records[PERF_DATA_RECORDS_MAX];
    size_t n;
};

/* Of cmocka; *state is the stream. */
int perf_data_setup(void **state);
int perf_data_teardown(void **state);

/* Begins the stream, checks its header and cuts it into records. */
void perf_data_begin(struct perf_data_stream *stream);
/* Cuts the output from `at` on into records: each is whole, and of a multiple of 8. */
void perf_data_split(struct perf_data_stream *stream, size_t at);

/* The n-th record of a type. */
size_t perf_data_find(const struct perf_data_stream *stream, uint32_t type, size_t n);
size_t perf_data_count(const struct perf_data_stream *stream, uint32_t type);
/* The bytes behind the number of a feature. */
const unsigned char *perf_data_feature(const struct perf_data_stream *stream, uint64_t number);

/* A number of 64 or 32 bits at an offset. */
uint64_t perf_data_word(const unsigned char *bytes, size_t at);
uint32_t perf_data_half(const unsigned char *bytes, size_t at);

#endif
