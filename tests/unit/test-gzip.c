/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>
#include <libdeflate.h>

#include "base/cleanup.h"
#include "base/gzip.h"

static const size_t sizes[] = {0, 1, 1000, 300000};

static void test_round_trip(void **state)
{
    struct libdeflate_decompressor *decompressor = libdeflate_alloc_decompressor();

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
        _cleanup_(buffer_done) struct buffer content = {0}, expected = {0};
        _cleanup_(freep) char *out = malloc(sizes[i] + 1);
        size_t size;
        for (size_t k = 0; k < sizes[i]; k++)
            buffer_append_char(&expected, (char)('0' + k * k % 77 % 10));
        buffer_append(&content, expected.data, expected.size);
        assert_int_equal(gzip_compress(&content), 0);
        assert_int_equal(libdeflate_gzip_decompress(decompressor, content.data, content.size, out, sizes[i] + 1, &size),
                         LIBDEFLATE_SUCCESS);
        assert_int_equal(size, sizes[i]);
        if (size)
            assert_memory_equal(out, expected.data, size);
        assert_true(sizes[i] < 1000 || content.size < sizes[i] / 2);
    }
    libdeflate_free_decompressor(decompressor);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_round_trip)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
