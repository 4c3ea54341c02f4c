/* SPDX-License-Identifier: Apache-2.0 */
/* Filters of system calls: rules, and a kernel or rules that fail. */
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/process/call-filter.h"
#include "tests/unit/test.h"

static void test_failures(void **state)
{
    static const struct {
        int in, out;
        const char *out_error;
    } cases[] = {
        {-EINVAL, 0, ""},
        {-ENOSYS, 0, ""},
        {-ENOMEM, -ENOMEM, "cannot filter system calls: Cannot allocate memory"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct error error = {0};
        bool filtered = true;
        assert_int_equal(call_filter_load(NULL, cases[i].in, &filtered, &error), cases[i].out);
        assert_false(filtered);
        assert_string_equal(error.message, cases[i].out_error);
    }
}

/* Returns the exit status of a child: 0 where the rules allow their calls and every other call fails. */
static int run_filtered(void)
{
    static const struct call_rule rules[] = {
        {SCMP_SYS(exit_group), 0, {{0}}},
        {SCMP_SYS(getppid), 0, {{0}}},
        {SCMP_SYS(fcntl), 1, {{1, SCMP_CMP_EQ, F_GETFD, 0}}},
        {SCMP_SYS(fcntl64), 1, {{1, SCMP_CMP_EQ, F_GETFD, 0}}},
    };
    scmp_filter_ctx context = seccomp_init(SCMP_ACT_ERRNO(EPERM));
    bool filtered = false;

    /* Otherwise every failure of the kernel is -ECANCELED. */
    if (seccomp_attr_set(context, SCMP_FLTATR_API_SYSRAWRC, 1) < 0)
        return 4;

    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (call_filter_load(context, call_filter_allow(context, rules, ARRAY_SIZE(rules)), &filtered, NULL) < 0)
        return 1;
    if (!filtered)
        return 77;
    if (syscall(SYS_getppid) < 0 || fcntl(STDIN_FILENO, F_GETFD) < 0)
        return 2;
    if (fcntl(STDIN_FILENO, F_GETFL) >= 0 || syscall(SYS_getuid) >= 0 || errno != EPERM)
        return 3;
    return 0;
}

static void test_rules(void **state)
{
    int status;
    pid_t pid = fork();

    (void)state;
    assert_true(pid >= 0);
    if (pid == 0)
        syscall(SYS_exit_group, run_filtered());
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == 77)
        skip_because("this kernel or this build has no filter of system calls");
    assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_failures),
        cmocka_unit_test(test_rules),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
