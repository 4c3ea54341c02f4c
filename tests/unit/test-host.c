/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "http/host.h"

static const struct {
    const char *in;
    bool out;
} cases[] = {
    {"localhost", true},
    {"localhost:10298", true},
    {"LOCALHOST.:10298", true},
    {"board", true},
    {"a.localhost:1", true},
    {"127.0.0.1", true},
    {"127.0.0.1:10298", true},
    {"127.0.0.1.", true},
    {"[::1]:10298", true},
    {"", true},
    {":10298", true},
    {"evil.example", false},
    {"evil.example:10298", false},
    {"evil.example.:10298", false},
    {"evil.example.a1", false},
    {"1.2.3.4a", false},
    {"127.0.0.1.evil.example", false},
    {"localhost.evil.example", false},
    {"evillocalhost.example:1", false},
    {"board.local", false},
    {"evil..", false},
};

static void test_private(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        if (host_is_private(cases[i].in) != cases[i].out)
            fail_msg("\"%s\" is %s", cases[i].in, cases[i].out ? "private" : "not private");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_private),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
