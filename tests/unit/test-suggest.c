/* SPDX-License-Identifier: Apache-2.0 */
/* "Did you mean": which names are near, in which order, and how it reads. */
#include "base/suggest.h"
#include "tests/unit/test.h"

static const char *const names[] = {
    "cycles",           "ref-cycles", "instructions", "branches", "branch-misses", "cache-misses",
    "cache-references", "cpu-clock",  "task-clock",   "cycles",   "bus-cycles",    "page-faults",
};

static void test_nearest(void **state)
{
    (void)state;
    static const struct {
        const char *in, *out;
    } cases[] = {
        {"cycels", "; did you mean \"cycles\"?"}, /* a swap costs 1 */
        {"cycle", "; did you mean \"cycles\"?"},
        {"CYCLES", "; did you mean \"cycles\"?"},
        {"cache_misses", "; did you mean \"cache-misses\", \"branch-misses\"?"},
        {"instuctions", "; did you mean \"instructions\"?"},
        {"brances", "; did you mean \"branches\"?"},
        {"xyz", ""},
        {"", ""},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct suggest suggest = {.wrong = cases[i].in};
        char text[128];
        for (size_t k = 0; k < ARRAY_SIZE(names); k++)
            suggest_consider(&suggest, names[k]);
        assert_string_equal(suggest_format(&suggest, text, sizeof(text)), cases[i].out);
    }
}

/* The three nearest stay, in order, wherever in the order of arrival they are. */
static void test_order(void **state)
{
    (void)state;
    static const char *const candidates[] = {"abcdefgh", "abcdefgx", "abcdefxx", "abcdexxx"};
    static const unsigned orders[][4] = {{0, 1, 2, 3}, {3, 2, 1, 0}, {1, 3, 0, 2}, {2, 0, 3, 1}};

    for (size_t i = 0; i < ARRAY_SIZE(orders); i++) {
        struct suggest suggest = {.wrong = "abcdefgh"};
        for (size_t k = 0; k < 4; k++)
            suggest_consider(&suggest, candidates[orders[i][k]]);
        assert_int_equal(suggest.n, SUGGEST_MAX);
        for (unsigned k = 0; k < SUGGEST_MAX; k++) {
            assert_ptr_equal(suggest.names[k], candidates[k]);
            assert_int_equal(suggest.distances[k], k);
        }
    }
}

static void test_long_names(void **state)
{
    (void)state;
    char name[80];

    memset(name, 'a', sizeof(name) - 1);
    name[79] = '\0';
    struct suggest suggest = {.wrong = name};
    suggest_consider(&suggest, name);
    assert_int_equal(suggest.n, 0);
    name[64] = '\0';
    suggest_consider(&suggest, name);
    assert_int_equal(suggest.n, 1);
    assert_int_equal(suggest.distances[0], 0);
}

static void test_small_text(void **state)
{
    (void)state;
    struct suggest suggest = {.wrong = "cycle"};
    char text[64];

    suggest_consider(&suggest, "cycles");
    suggest_consider(&suggest, "cycled");
    for (size_t size = 1; size < sizeof(text); size++) {
        memset(text, '#', sizeof(text));
        suggest_format(&suggest, text, size);
        assert_true(strlen(text) < size);
        assert_int_equal(text[size], '#');
    }
    assert_string_equal(text, "; did you mean \"cycles\", \"cycled\"?");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nearest),
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_long_names),
        cmocka_unit_test(test_small_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
