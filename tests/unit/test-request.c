/* SPDX-License-Identifier: Apache-2.0 */
/* Well-formed URLs, and others. */
#include "http/request.h"
#include "tests/unit/test.h"

static const struct {
    const char *in;
    bool out;
} cases[] = {
    {"", true},     {"/metrics?a=b", true}, {"/%41%5b%5D", true}, {"/%25zz", true}, {"/%f0", true},
    {"%01", true},  {"/%", false},          {"/%4", false},       {"/%zz", false},  {"/%4g", false},
    {"%00", false}, {"/a%20b%0", false},    {"%%41", false},      {"%-1", false},   {"% 1", false},
};

static void test_percent_encoding(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        assert_int_equal(request_uri_is_valid(cases[i].in), cases[i].out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_percent_encoding)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
