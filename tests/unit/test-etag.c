/* SPDX-License-Identifier: Apache-2.0 */
#include "http/api/etag.h"
#include "tests/unit/test.h"

static const struct {
    const char *in;
    bool out;
} cases[] = {
    {"\"abc\"", true},
    {"W/\"abc\"", true},
    {"*", true},
    {" * ", true},
    {"\"x\", \"abc\"", true},
    {"\"x\",W/\"y\",\"abc\"", true},
    {"\t,, \"abc\" ,", true},
    {"\"a,b\", \"abc\"", true},
    {"\"abc\" \"x\"", true},
    {"", false},
    {"abc", false},
    {"\"ab\"", false},
    {"\"abcd\"", false},
    {"\"ABC\"", false},
    {"\"abc-gzip\"", false},
    {"\"abc", false},
    {"\"", false},
    {"W/", false},
    {"w/\"abc\"", false},
    {"W/ \"abc\"", false},
    {"\"x\", abc, \"abc\"", false},
    {"\"x\", *", false},
    {"\"x, \"abc\"", false},
};

static void test_lists(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        print_message("%s\n", cases[i].in);
        assert_int_equal(etag_is_in("\"abc\"", cases[i].in), cases[i].out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lists),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
