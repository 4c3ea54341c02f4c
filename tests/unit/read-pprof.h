/* SPDX-License-Identifier: Apache-2.0 */
/* A pprof profile as a reader has it: the fields of tests/e2e/profile.proto that perfcountd writes. */
#ifndef TESTS_UNIT_READ_PPROF_H
#define TESTS_UNIT_READ_PPROF_H

#include <stddef.h>
#include <stdint.h>

#define READ_NUMBERS_MAX 1024
#define READ_LABELS_MAX 4

struct read_value_type {
    int64_t type, unit;
};

struct read_label {
    int64_t key, str, num;
};

struct read_sample {
    uint64_t *location_id;
    size_t n_location_id;
    int64_t value[2];
    size_t n_value;
    struct read_label label[READ_LABELS_MAX];
    size_t n_label;
};

struct read_mapping {
    uint64_t id, memory_start, memory_limit, file_offset;
    int64_t filename, build_id;
    uint64_t has_functions;
};

struct read_location {
    uint64_t id, mapping_id, address;
    uint64_t function_id; /* of its lines' last */
    size_t n_line;
};

struct read_function {
    uint64_t id;
    int64_t name, system_name;
};

struct read_pprof {
    struct read_value_type sample_type[4], period_type;
    size_t n_sample_type;
    struct read_sample *sample;
    size_t n_sample;
    struct read_mapping *mapping;
    size_t n_mapping;
    struct read_location *location;
    size_t n_location;
    struct read_function *function;
    size_t n_function;
    char **string_table;
    size_t n_string_table;
    int64_t time_nanos, duration_nanos, period, default_sample_type;
    int64_t comment[8];
    size_t n_comment;
};

/* Fails the test if a message makes no sense or has a field that is not above. */
struct read_pprof *read_pprof(const uint8_t *bytes, size_t size);
void read_pprof_free(struct read_pprof *profile);

#endif
