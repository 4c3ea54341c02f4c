/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "base/cleanup.h"
#include "base/escape.h"
#include "tests/unit/test.h"

#define N_DIALECTS 5

static const struct {
    const char *in;
    const char *out[N_DIALECTS]; /* in the order of enum escape */
} cases[] = {
    {"", {"", "", "", "", ""}},
    {"plain", {"plain", "plain", "plain", "plain", "plain"}},
    {"\\", {"\\\\", "\\\\", "\\\\", "\\\\", "\\"}},
    {"\n", {"\\n", "\\n", "\\n", "\\n", "\n"}},
    {"\"", {"\"", "\\\"", "\\\"", "\\\"", "\""}},
    {"\t\x01", {"\t\x01", "\t\x01", "\t\x01", "\\u0009\\u0001", "\t\x01"}},
    {"\xc3\xa9", {"\xc3\xa9", "\xc3\xa9", "\xc3\xa9", "\xc3\xa9", "\xc3\xa9"}},
    {"\xff", {"\xef\xbf\xbd", "\xef\xbf\xbd", "\xef\xbf\xbd", "\xef\xbf\xbd", "\xef\xbf\xbd"}},
    {"\xc3\"", {"\xef\xbf\xbd\"", "\xef\xbf\xbd\\\"", "\xef\xbf\xbd\\\"", "\xef\xbf\xbd\\\"", "\xef\xbf\xbd\""}},
};

static void test_escape(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        for (size_t k = 0; k < N_DIALECTS; k++) {
            struct buffer buffer = {0};
            escape_append(&buffer, cases[i].in, (enum escape)k);
            _cleanup_(freep) char *text = buffer_string(&buffer);
            assert_string_equal(text, cases[i].out[k]);
        }
}

/* Colours, line breaks, a C1 control, a cut character; other scripts stay. */
static void test_printable(void **state)
{
    static const struct {
        const char *in, *out;
    } texts[] = {
        {"", ""},
        {"/system.slice/caf\xc3\xa9.service", "/system.slice/caf\xc3\xa9.service"},
        {"\033[31m\n\t\x7f", "\\x1b[31m\\x0a\\x09\\x7f"},
        {"a\xc2\x9b"
         "b\xff",
         "a\\xc2\\x9bb\\xff"},
        {"\xe2\x80\xa8\xc3", "\\xe2\\x80\\xa8\\xc3"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        struct buffer buffer = {0};
        escape_append_printable(&buffer, texts[i].in);
        _cleanup_(freep) char *text = buffer_string(&buffer);
        assert_string_equal(text, texts[i].out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_escape), cmocka_unit_test(test_printable)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
