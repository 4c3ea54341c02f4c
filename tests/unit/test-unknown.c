/* SPDX-License-Identifier: Apache-2.0 */
/* The error about a name that nobody knows. */
#include "formats/unknown.h"

#include <stdio.h>

#include "base/cleanup.h"
#include "tests/unit/test.h"

static const struct {
    const char *in_wrong, *in_known[5];
    const char *out;
} cases[] = {
    {"cyclez", {"cycles", "branches", "cycles"}, "no \"cyclez\"; did you mean \"cycles\"? Known are cycles, branches"},
    {"xyz", {"cycles", "branches"}, "no \"xyz\"; known are cycles, branches"},
    {"xyz", {NULL}, "no \"xyz\""},
};

static void test_sentences(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _cleanup_(unknown_done) struct unknown unknown = {.suggest.wrong = cases[i].in_wrong};
        struct error error;
        for (size_t k = 0; cases[i].in_known[k]; k++)
            unknown_consider(&unknown, cases[i].in_known[k]);
        assert_int_equal(unknown_error(&unknown, &error, "no \"%s\"", cases[i].in_wrong), -EINVAL);
        assert_string_equal(error.message, cases[i].out);
    }
}

/* More than a sentence can hold, and more than are compared: whole names, then dots. */
static void test_many(void **state)
{
    _cleanup_(unknown_done) struct unknown unknown = {.suggest.wrong = "name-9"};
    static char names[2000][16];
    struct error error;

    (void)state;
    for (unsigned i = 0; i < ARRAY_SIZE(names); i++) {
        snprintf(names[i], sizeof(names[i]), "name-%u", 1000 + i);
        unknown_consider(&unknown, names[i]);
    }
    unknown_error(&unknown, &error, "no \"name-9\"");
    assert_non_null(strstr(error.message, "Known are name-1000, name-1001, "));
    assert_string_equal(error.message + strlen(error.message) - strlen(", name-1028, ..."), ", name-1028, ...");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sentences),
        cmocka_unit_test(test_many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
