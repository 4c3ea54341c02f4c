/* SPDX-License-Identifier: Apache-2.0 */
#include <libdeflate.h>

#include "base/cleanup.h"
#include "base/gzip.h"
#include "tests/unit/test.h"

static const size_t sizes[] = {0, 1, 2, 17, 1000, 65535, 65536, 65537, 300000, 2000001};

static void fill_text(struct buffer *content, size_t size)
{
    for (size_t k = 0; k < size; k++)
        buffer_append_char(content, (char)('0' + k * k % 77 % 10));
}

/* Fills in random bytes, which cannot be compressed. */
static void fill_noise(struct buffer *content, size_t size)
{
    uint64_t random = 1;

    for (size_t k = 0; k < size; k++) {
        random = random * UINT64_C(6364136223846793005) + 1;
        buffer_append_char(content, (char)(random >> 56));
    }
}

/* Fills the buffer with text that resembles /metrics: series with constant labels and random values. */
static void fill_page(struct buffer *content, size_t size)
{
    uint64_t random = 1;

    for (unsigned cpu = 0; content->size < size; cpu++) {
        random = random * UINT64_C(6364136223846793005) + 1;
        buffer_appendf(content, "perf_cpu_cycles_total{cpu=\"%u\",pmu=\"cpu\",group=\"core\"} %ju\n", cpu,
                       (uintmax_t)(random >> 24));
    }
    content->size = size;
}

static void assert_holds(const struct buffer *compressed, const struct buffer *expected)
{
    struct libdeflate_decompressor *decompressor = libdeflate_alloc_decompressor();
    _cleanup_(freep) char *out = malloc(expected->size + 1);
    size_t size;

    assert_int_equal(
        libdeflate_gzip_decompress(decompressor, compressed->data, compressed->size, out, expected->size + 1, &size),
        LIBDEFLATE_SUCCESS);
    libdeflate_free_decompressor(decompressor);
    assert_int_equal(size, expected->size);
    if (expected->size)
        assert_memory_equal(out, expected->data, expected->size);
}

TEST(test_round_trips)
{
    static const struct {
        void (*fill)(struct buffer *content, size_t size);
        size_t out_ratio;
    } cases[] = {{fill_text, 2}, {fill_page, 4}};

    for (size_t i = 0; i < ARRAY_SIZE(cases) * ARRAY_SIZE(sizes); i++) {
        _cleanup_(buffer_done) struct buffer content = {0}, expected = {0};
        size_t size = sizes[i % ARRAY_SIZE(sizes)], kind = i / ARRAY_SIZE(sizes);
        cases[kind].fill(&expected, size);
        buffer_append(&content, expected.data, expected.size);
        assert_int_equal(gzip_compress(&content), 0);
        assert_holds(&content, &expected);
        assert_true(size < 1000 || content.size < size / cases[kind].out_ratio);
    }
}

TEST(test_decode)
{
    for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
        _cleanup_(buffer_done) struct buffer content = {0}, expected = {0}, decoded = {0};
        fill_noise(&expected, sizes[i]);
        buffer_append(&content, expected.data, expected.size);
        assert_int_equal(gzip_compress(&content), 0);
        assert_true(content.size <= sizes[i] + sizes[i] / 10000 + 32);
        buffer_append_char(&decoded, '<');
        assert_int_equal(gzip_decode(&decoded, content.data, content.size, sizes[i]), 0);
        assert_int_equal(decoded.size, 1 + sizes[i]);
        if (sizes[i])
            assert_memory_equal(decoded.data + 1, expected.data, sizes[i]);
    }
}

/* A wrong size, a truncated stream, a wrong checksum and plain text are refused and leave the buffer unchanged. */
TEST(test_decode_garbled)
{
    _cleanup_(buffer_done) struct buffer content = {0}, decoded = {0};

    fill_text(&content, 1000);
    assert_int_equal(gzip_decode(&decoded, content.data, content.size, 1000), -EBADMSG);
    assert_int_equal(gzip_compress(&content), 0);
    assert_int_equal(gzip_decode(&decoded, content.data, content.size, 999), -EBADMSG);
    assert_int_equal(gzip_decode(&decoded, content.data, content.size, 1001), -EBADMSG);
    assert_int_equal(gzip_decode(&decoded, content.data, content.size - 1, 1000), -EBADMSG);
    content.data[content.size - 8]++; /* a byte of the CRC */
    assert_int_equal(gzip_decode(&decoded, content.data, content.size, 1000), -EBADMSG);
    assert_int_equal(decoded.size, 0);
}

TEST(test_larger_than_prepared)
{
    _cleanup_(buffer_done) struct buffer content = {0};
    _cleanup_(gzip_done) struct gzip gzip;

    fill_noise(&content, 300000);
    assert_int_equal(gzip_prepare(&gzip, 1000), 0);
    assert_int_equal(gzip_run(&gzip, &content), -ENOMEM);
}

TEST_MAIN(NULL, NULL)
