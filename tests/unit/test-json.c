/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json.h"
#include "base/util.h"
#include "tests/unit/test.h"

static void test_text(void **state)
{
    static const struct {
        const char *in, *out;
    } cases[] = {
        {"", ""},
        {"/etc/p\xc3\xa4th.yaml", "/etc/p\xc3\xa4th.yaml"},
        {"/etc/p\xe4th.yaml", "/etc/p\xef\xbf\xbdth.yaml"},
        {"cut \xc3", "cut \xef\xbf\xbd"},
        {"a \"quote\"\n", "a \"quote\"\n"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        json_t *text = json_text(cases[i].in);
        assert_string_equal(json_string_value(text), cases[i].out);
        json_decref(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
