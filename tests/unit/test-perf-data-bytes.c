/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/perf-data-bytes.h"
#include "tests/unit/test.h"

/* The size of a record with a text of this length; 0: it is too large, and taken back. */
static void test_sizes(void **state)
{
    static const struct {
        size_t text, record;
    } cases[] = {
        {0, 16}, {1, 16}, {7, 16}, {8, 24}, {65519, 65528}, {65520, 0}, {100000, 0},
    };
    struct buffer out = {0};

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct perf_event_header header;
        char *text = calloc(1, cases[i].text + 1);
        assert_non_null(text);
        memset(text, 'x', cases[i].text);
        buffer_clear(&out);
        buffer_append_text(&out, "before");
        size_t start = perf_data_bytes_begin(&out, 9, 3);
        assert_int_equal(start, 6);
        perf_data_bytes_write_text(&out, text);
        perf_data_bytes_end(&out, start);
        assert_int_equal(out.size, 6 + cases[i].record);
        free(text);
        if (cases[i].record == 0)
            continue;
        memcpy(&header, out.data + start, sizeof(header));
        assert_int_equal(header.type, 9);
        assert_int_equal(header.misc, 3);
        assert_int_equal(header.size, cases[i].record);
        for (size_t at = sizeof(header) + cases[i].text; at < cases[i].record; at++)
            assert_int_equal(out.data[start + at], 0);
    }
    buffer_done(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sizes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
