/* SPDX-License-Identifier: Apache-2.0 */
/* Text for a terminal: hostile bytes become "?", what is wide takes two columns, what is long is shortened. */
#include <locale.h>

#include "base/cleanup.h"
#include "daemon/top/top-text.h"
#include "tests/unit/test.h"

static const struct {
    const char *in;
    size_t in_width;
    const char *out, *out_short;
    size_t out_columns;
} cases[] = {
    {"", 5, "", "", 0},
    {"plain", 5, "plain", "plain", 5},
    {"plain", 0, "", "", 0},
    {"/system.slice/ssh.service", 13, "/system.slice", "/sy...service", 13},
    {"abcdef", 4, "abcd", "..ef", 4},
    {"abcdef", 3, "abc", "abc", 3},
    {"a\033[2Jb\r\n\t\x7f", 20, "a?[2Jb????", "a?[2Jb????", 10},
    {"\xc2\x9b"
     "31m",
     20, "?31m", "?31m", 4}, /* the control CSI in one character */
    {"\xff\xfe\xc3", 20, "???", "???", 3},
    {"\xe2\x80\xae"
     "abc\xcc\x81",
     20, "?abc?", "?abc?", 5}, /* a direction, a mark */
    {"\xe6\x97\xa5\xe6\x9c\xac", 4, "\xe6\x97\xa5\xe6\x9c\xac", "\xe6\x97\xa5\xe6\x9c\xac", 4},
    {"\xe6\x97\xa5\xe6\x9c\xac", 3, "\xe6\x97\xa5", "\xe6\x97\xa5", 2},
    {"\xc3\xa4\xf0\x9f\x98\x80", 9, "\xc3\xa4\xf0\x9f\x98\x80", "\xc3\xa4\xf0\x9f\x98\x80", 3},
};

static void check_text(const char *what, struct buffer *buffer, const char *expected)
{
    _cleanup_(freep) char *text = buffer_string(buffer);

    if (!text || !str_equal(text, expected))
        fail_msg("%s: expected \"%s\", got \"%s\"", what, expected, text ? text : "(none)");
}

static void test_append(void **state)
{
    (void)state;
    if (!setlocale(LC_CTYPE, "C.UTF-8"))
        skip_because("there is no locale C.UTF-8");
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct buffer buffer = {0};
        assert_int_equal(top_text_append(&buffer, cases[i].in, cases[i].in_width), cases[i].out_columns);
        check_text("append", &buffer, cases[i].out);
        size_t used = top_text_append_short(&buffer, cases[i].in, cases[i].in_width);
        assert_true(used <= cases[i].in_width);
        check_text("append_short", &buffer, cases[i].out_short);
    }
    assert_int_equal(top_text_width("\xe6\x97\xa5\033x"), 4);
}

/* By any bytes, the text that is appended is printable and as wide as it says. */
static void test_by_chance(void **state)
{
    char text[24];

    (void)state;
    setlocale(LC_CTYPE, "C.UTF-8");
    srand(14);
    for (size_t i = 0; i < 20000; i++) {
        _cleanup_(buffer_done) struct buffer buffer = {0};
        size_t n = (size_t)rand() % (sizeof(text) - 1), width = (size_t)rand() % 12;
        for (size_t k = 0; k < n; k++)
            text[k] = (char)(rand() % 3 ? 1 + rand() % 255 : 0x80 + rand() % 0x70);
        text[n] = '\0';
        size_t used = top_text_append_short(&buffer, text, width);
        buffer_append_char(&buffer, '\0');
        assert_true(used <= width);
        assert_int_equal(top_text_width(buffer.data), used);
        for (size_t k = 0; k + 1 < buffer.size; k++)
            assert_true((unsigned char)buffer.data[k] >= ' ' && buffer.data[k] != 0x7f);
    }
}

static void test_ascii(void **state)
{
    struct buffer buffer = {0};

    (void)state;
    setlocale(LC_CTYPE, "C");
    assert_int_equal(top_text_append(&buffer, "a\xc3\xa4\xe6\x97\xa5z", 9), 4);
    check_text("without UTF-8", &buffer, "a?\?z");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_append),
        cmocka_unit_test(test_by_chance),
        cmocka_unit_test(test_ascii),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
