/* SPDX-License-Identifier: Apache-2.0 */
#include "http/auth/host.h"
#include "tests/unit/test.h"

static const struct {
    const char *in;
    bool out;
} cases[] = {
    {"localhost", true},
    {"localhost:10298", true},
    {"LOCALHOST.:10298", true},
    {"a.localhost:1", true},
    {"127.0.0.1", true},
    {"127.0.0.1:10298", true},
    {"127.0.0.1.", true},
    {"192.0.2.1:10298", true},
    {"[::1]", true},
    {"[::1]:10298", true},
    {"[2001:db8::1]:10298", true},
    {"[::ffff:192.0.2.1]:1", true},
    {"board", true},
    {"Board.:10298", true},
    {"board.lab.example", true},
    {"BOARD.LAB.EXAMPLE.:10298", true},
    {"dashboard.example:80", true},
    {"Alias", true},
    /* Another machine, or anybody's. */
    {"printer", false},
    {"printer:10298", false},
    {"wpad", false},
    {"evil.example", false},
    {"evil.example:10298", false},
    {"evil.example.:10298", false},
    {"evil.example.a1", false},
    {"evil.example.1", false},
    {"1.2.3.4a", false},
    {"127.0.0.1.evil.example", false},
    {"localhost.evil.example", false},
    {"evillocalhost", false},
    {"evillocalhost.example:1", false},
    {"board.local", false},
    {"board.evil.example", false},
    {"board.lab", false},
    {"a.board", false},
    {"boar", false},
    {"boards", false},
    {"evil..", false},
    {"sub.dashboard.example", false},
    /* Neither an address nor a name. */
    {"", false},
    {".", false},
    {":10298", false},
    {".localhost", false},
    {"127.1", false},
    {"2130706433", false},
    {"0x7f.0.0.1", false},
    {"[::1", false},
    {"[]", false},
    {"[::1]evil.example", false},
    {"[evil.example]", false},
    {"[::1]:evil", false},
    {"localhost:evil.example", false},
    {"localhost:80@evil.example", false},
    {"localhost/evil.example", false},
    {"::1", false},
    {"localhost, evil.example", false},
};

static bool is_own(const char *host, const char *machine)
{
    char *others[] = {(char *)"dashboard.example", (char *)"alias."};
    struct host_names names = {.machine = machine, .others = others, .n_others = ARRAY_SIZE(others)};

    return host_is_own(host, &names);
}

static void test_own(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        if (is_own(cases[i].in, "Board.lab.example") != cases[i].out)
            fail_msg("\"%s\" is %s", cases[i].in, cases[i].out ? "this machine's" : "not this machine's");
}

/* A machine's name without a domain has none that could be put behind it. */
static void test_machine(void **state)
{
    (void)state;
    assert_true(is_own("board", "board"));
    assert_false(is_own("board.lab.example", "board"));
    assert_false(is_own("", ""));
    assert_false(is_own(".", ""));
    assert_true(is_own("localhost", ""));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_own),
        cmocka_unit_test(test_machine),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
