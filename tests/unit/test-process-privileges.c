/* SPDX-License-Identifier: Apache-2.0 */
/* The capabilities of a process that drops some or all of them. */
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "process/privileges.h"
#include "tests/unit/test.h"

/* Returns the capabilities in any set except the bounding set, as the kernel reports them. */
static uint64_t all_sets(void)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct sets[2] = {{0}};

    if (syscall(SYS_capget, &header, sets) < 0)
        return UINT64_MAX;
    return (uint64_t)(sets[1].effective | sets[1].permitted | sets[1].inheritable) << 32 | sets[0].effective |
           sets[0].permitted | sets[0].inheritable;
}

/* Returns the exit status of a child, which is 0 if all checks pass. */
static int keep(uint64_t mask, bool empty_first)
{
    bool may_bound = capabilities_own() >> CAP_SETPCAP & 1;
    struct error error;

    if (empty_first && capabilities_empty_bounding_set(&error) < 0)
        return 1;
    if (capabilities_keep_only(mask, &error) < 0)
        return 2;
    if (capabilities_own() != mask || all_sets() != mask)
        return 3;
    if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1)
        return 4;
    for (unsigned long i = 0; i <= CAP_PERFMON; i++) {
        int bound = prctl(PR_CAPBSET_READ, i, 0, 0, 0);
        if (may_bound && bound > 0 && (empty_first || !(mask >> i & 1)))
            return 5;
    }
    return capabilities_are_privileged() == ((mask >> CAP_SYS_ADMIN | mask >> CAP_PERFMON) & 1) ? 0 : 6;
}

TEST(test_keep_only)
{
    uint64_t own = capabilities_own();
    const uint64_t masks[] = {own & UINT64_C(1) << CAP_SYS_ADMIN, own & UINT64_C(1) << CAP_SYSLOG, 0, 0};

    for (size_t i = 0; i < ARRAY_SIZE(masks); i++) {
        int status;
        pid_t pid = fork();
        assert_true(pid >= 0);
        if (pid == 0)
            _exit(keep(masks[i], i == ARRAY_SIZE(masks) - 1));
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 0);
    }
    assert_int_equal(capabilities_own(), own);
}

TEST(test_name)
{
    assert_string_equal(capability_name(CAP_SYS_ADMIN), "sys_admin");
    assert_string_equal(capability_name(CAP_PERFMON), "perfmon");
    assert_string_equal(capability_name(40), "checkpoint_restore");
    assert_null(capability_name(63));
}

TEST_MAIN(NULL, NULL)
