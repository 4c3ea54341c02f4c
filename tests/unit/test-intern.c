/* SPDX-License-Identifier: Apache-2.0 */
/* Interned strings and tables of numbered strings. */
#include <stdio.h>

#include "base/cleanup.h"
#include "base/intern.h"
#include "tests/unit/test.h"

/* Equal strings are stored once. */

TEST(test_same)
{
    _cleanup_(intern_done) struct intern intern = {0};
    char text[] = "cycles";

    const char *first = intern_text(&intern, text);
    assert_ptr_not_equal(first, text);
    assert_string_equal(first, "cycles");
    text[0] = 'C';
    assert_ptr_not_equal(intern_text(&intern, text), first);
    assert_ptr_equal(intern_text(&intern, "cycles"), first);
    assert_string_equal(intern_text(&intern, ""), "");
    assert_int_equal(intern.n, 3);
    assert_int_equal(intern_size(first), strlen("cycles"));
    assert_true(intern_is_plain(first));
    assert_false(intern_is_plain(intern_text(&intern, "a \"name\"")));
}

/* Equal strings get the same number, which never changes. */

#define STRINGS_MAX 24576
#define BYTES_MAX ((size_t)512 << 10)

TEST(test_numbers)
{
    static const struct {
        const char *in;
        uint32_t out;
        const char *out_text;
    } cases[] = {
        {"", 0, ""},
        {"a", 1, "a"},
        {"b", 2, "b"},
        {"a", 1, "a"},
        {"a\xff", 3, "a\xef\xbf\xbd"},
        {"a\xfe", 3, "a\xef\xbf\xbd"},
        {"", 0, ""},
        {"ab", 4, "ab"},
    };
    _cleanup_(string_table_done) struct string_table strings;

    assert_int_equal(string_table_init(&strings, STRINGS_MAX, BYTES_MAX), 0);
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        uint32_t number;
        assert_int_equal(string_table_add(&strings, cases[i].in, &number), 0);
        assert_int_equal(number, cases[i].out);
        assert_string_equal(string_table_text(&strings, number), cases[i].out_text);
    }
    assert_int_equal(strings.n, 5);
}

/* A table is bounded by the number of its strings and by their total size. */
TEST(test_bound)
{
    for (int width = 1; width <= 1000; width += 999) {
        _cleanup_(string_table_done) struct string_table strings;
        uint32_t n = 0, number = 0;
        int r = string_table_init(&strings, STRINGS_MAX, BYTES_MAX);
        char text[1100];
        for (; r == 0 && n < 100000; n++) {
            snprintf(text, sizeof(text), "%0*u", width, n);
            r = string_table_add(&strings, text, &number);
            assert_true(r < 0 || number == n + 1);
        }
        assert_int_equal(r, -ENOSPC);
        assert_int_equal(string_table_add(&strings, text, &number), -ENOSPC);
        assert_int_equal(n, strings.n);
        assert_true(strings.n <= STRINGS_MAX && strings.bytes.size <= BYTES_MAX + 1100);
        for (uint32_t i = 0; i < n - 1; i += 97) {
            snprintf(text, sizeof(text), "%0*u", width, i);
            assert_int_equal(string_table_add(&strings, text, &number), 0);
            assert_int_equal(number, i + 1);
        }
    }
}

TEST_MAIN(NULL, NULL)
