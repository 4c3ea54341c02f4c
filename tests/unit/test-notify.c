/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a service manager started this process, by the variables that systemd sets and that others inherit. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/util.h"
#include "systemd/notify.h"
#include "tests/unit/test.h"

enum whose { UNSET, OWN, OTHERS, GARBLED };

static const struct {
    bool in_socket;
    enum whose in_exec, in_watchdog, in_listen;
    bool out;
} cases[] = {
    {false, UNSET, UNSET, UNSET, false}, {false, OWN, OWN, OWN, false},
    {true, UNSET, UNSET, UNSET, false},                                   /* a container's engine */
    {true, OWN, UNSET, UNSET, true},     {true, UNSET, OWN, UNSET, true}, /* systemd 247 */
    {true, UNSET, UNSET, OWN, true},     {true, OTHERS, OTHERS, OTHERS, false},
    {true, OTHERS, OWN, OTHERS, true},   {true, GARBLED, GARBLED, GARBLED, false},
};

static void set(const char *name, enum whose whose)
{
    char pid[32];

    unsetenv(name);
    snprintf(pid, sizeof(pid), "%d", whose == OWN ? (int)getpid() : (int)getppid());
    if (whose != UNSET)
        setenv(name, whose == GARBLED ? "pid" : pid, 1);
}

static void test_is_heard(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        unsetenv("NOTIFY_SOCKET");
        if (cases[i].in_socket)
            setenv("NOTIFY_SOCKET", "/run/systemd/notify", 1);
        set("SYSTEMD_EXEC_PID", cases[i].in_exec);
        set("WATCHDOG_PID", cases[i].in_watchdog);
        set("LISTEN_PID", cases[i].in_listen);
        assert_int_equal(notify_is_heard(), cases[i].out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_is_heard),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
