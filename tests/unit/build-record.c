/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/build-record.h"
#include "tests/unit/test.h"
#include "tests/unit/walk-record.h"

void built_bytes(struct built *built, const void *bytes, size_t size)
{
    assert_true(built->size + size <= sizeof(built->bytes));
    memcpy(built->bytes + built->size, bytes, size);
    built->size += size;
}

void put8(struct built *built, uint64_t value)
{
    built_bytes(built, &value, sizeof(value));
}

void put4(struct built *built, uint32_t value)
{
    built_bytes(built, &value, sizeof(value));
}

void put2(struct built *built, uint16_t value)
{
    built_bytes(built, &value, sizeof(value));
}

void built_text(struct built *built, const char *text)
{
    built_bytes(built, text, strlen(text) + 1);
    while (built->size % 8)
        built_bytes(built, "", 1);
}

void put_array(struct built *built, size_t n, uint64_t first)
{
    for (size_t i = 0; i < n; i++)
        put8(built, first + i);
}

void put_filled(struct built *built, size_t size, int byte)
{
    for (size_t i = 0; i < size; i++)
        built_bytes(built, &(char){(char)byte}, 1);
}

void start_record(struct built *built, uint32_t type, uint16_t misc)
{
    built->size = 0;
    put4(built, type);
    put2(built, misc);
    put2(built, 0);
}

void set_record_size(void *bytes, size_t size)
{
    uint16_t size16 = (uint16_t)size;
    memcpy((char *)bytes + 6, &size16, sizeof(size16));
}

void *exact_copy(const void *bytes, size_t size)
{
    void *copy = malloc(size);
    assert_non_null(copy);
    return memcpy(copy, bytes, size);
}

int try_decode(const void *bytes, size_t size, const struct record_layout *layout)
{
    struct record record = {.type = 12345};

    int r = record_decode(bytes, size, layout, &record);
    if (r == 0)
        walk_record(&record, layout);
    else
        assert_int_equal(record.type, 12345);
    return r;
}

/* Replaces each 64-bit word in turn with values that are invalid as a count, a size or the end of a string. */
static void try_wrong_words(const struct built *built, const struct record_layout *layout)
{
    static const uint64_t bad[] = {0, 1, 3, 8, 0xffff, UINT32_MAX, 0x0101010101010101, UINT64_MAX / 3 + 1, UINT64_MAX};
    void *copy = exact_copy(built->bytes, built->size);

    for (size_t at = 8; at < built->size; at += 8)
        for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
            memcpy((char *)copy + at, &bad[i], 8);
            int r = try_decode(copy, built->size, layout);
            assert_true(r == 0 || r == -EBADMSG);
            memcpy((char *)copy + at, built->bytes + at, 8);
        }
    free(copy);
}

void try_cut_and_lies(const struct built *built, const struct record_layout *layout, bool tight)
{
    for (size_t size = 0; size < built->size; size++) {
        void *copy = exact_copy(built->bytes, size);
        assert_int_equal(try_decode(copy, size, layout), -EBADMSG); /* the header still states the full size */
        if (size >= 8) {
            set_record_size(copy, size);
            int r = try_decode(copy, size, layout);
            assert_true(r == -EBADMSG || (r == 0 && size % 8 == 0 && !tight));
        }
        free(copy);
    }
    try_wrong_words(built, layout);
}

void put_trailer(struct built *built, uint64_t type)
{
    if (type & PERF_SAMPLE_TID) {
        put4(built, 901);
        put4(built, 902);
    }
    if (type & PERF_SAMPLE_TIME)
        put8(built, 903);
    if (type & PERF_SAMPLE_ID)
        put8(built, 904);
    if (type & PERF_SAMPLE_STREAM_ID)
        put8(built, 905);
    if (type & PERF_SAMPLE_CPU) {
        put4(built, 906);
        put4(built, 999);
    }
    if (type & PERF_SAMPLE_IDENTIFIER)
        put8(built, 904);
}

void check_id(const struct record_id *id, uint64_t type)
{
    assert_int_equal(id->pid, type & PERF_SAMPLE_TID ? 901 : UINT32_MAX);
    assert_int_equal(id->tid, type & PERF_SAMPLE_TID ? 902 : UINT32_MAX);
    assert_int_equal(id->time, type & PERF_SAMPLE_TIME ? 903 : 0);
    assert_int_equal(id->id, type & (PERF_SAMPLE_ID | PERF_SAMPLE_IDENTIFIER) ? 904 : 0);
    assert_int_equal(id->stream_id, type & PERF_SAMPLE_STREAM_ID ? 905 : 0);
    assert_int_equal(id->cpu, type & PERF_SAMPLE_CPU ? 906 : UINT32_MAX);
}
