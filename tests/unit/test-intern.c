/* SPDX-License-Identifier: Apache-2.0 */
/* Each text is held once. */
#include <stdio.h>

#include "base/cleanup.h"
#include "base/intern.h"
#include "tests/unit/test.h"

static void test_same(void **state)
{
    _cleanup_(intern_done) struct intern intern = {0};
    char text[] = "cycles";

    (void)state;
    const char *first = intern_text(&intern, text);
    assert_ptr_not_equal(first, text);
    assert_string_equal(first, "cycles");
    text[0] = 'C';
    assert_ptr_not_equal(intern_text(&intern, text), first);
    assert_ptr_equal(intern_text(&intern, "cycles"), first);
    assert_string_equal(intern_text(&intern, ""), "");
    assert_int_equal(intern.n, 3);
    assert_int_equal(intern_size(first), strlen("cycles"));
}

static void test_many(void **state)
{
    _cleanup_(intern_done) struct intern intern = {0};
    const char *texts[1000];
    char text[16];

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        snprintf(text, sizeof(text), "%zu", i * 7919 % ARRAY_SIZE(texts));
        texts[i * 7919 % ARRAY_SIZE(texts)] = intern_text(&intern, text);
    }
    assert_int_equal(intern.n, ARRAY_SIZE(texts));
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        snprintf(text, sizeof(text), "%zu", i);
        assert_string_equal(texts[i], text);
        assert_ptr_equal(intern_text(&intern, text), texts[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same),
        cmocka_unit_test(test_many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
