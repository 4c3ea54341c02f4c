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

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_escape)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
