/* SPDX-License-Identifier: Apache-2.0 */
/* The daemon's jail, tried by a process that entered it (tests/impostor tries more), and the user that it becomes. */
#include <fcntl.h>
#include <linux/perf_event.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/process/capabilities.h"
#include "base/sanitizer.h"
#include "opener/daemon-jail.h"
#include "tests/unit/test.h"

static void test_user(void **state)
{
    static const struct {
        const char *in, *out_error;
        uid_t out;
    } cases[] = {
        {"daemon", NULL, 1},
        {"12345", NULL, 12345},
        {"root", "is root, but the process that listens must not be root", 0},
        {"0", "is root, but the process that listens must not be root", 0},
        {"no-such-user", "there is no user \"no-such-user\"", 0},
        {"-1", "there is no user \"-1\"", 0},
        {"4294967295", "there is no user", 0},
    };
    struct error error;
    struct user user;

    (void)state;
    if (geteuid() != 0) {
        assert_int_equal(user_choose("daemon", &user, &error), 0);
        assert_false(user.change);
        assert_int_equal(user.uid, geteuid());
        return;
    }
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        int r = user_choose(cases[i].in, &user, &error);
        assert_int_equal(r, cases[i].out_error ? -EINVAL : 0);
        assert_true(r < 0 ? strstr(error.message, cases[i].out_error) != NULL
                          : user.change && user.uid == cases[i].out);
    }
    assert_int_equal(user_choose("", &user, &error), 0);
    assert_true(user.change && user.uid != 0 && user.gid != 0);
}

static int errno_of(long result)
{
    return result < 0 ? errno : 0;
}

/* The requests of perf, by number, and variants that mean the same to the kernel or another thing altogether. */
static bool perf_requests_are_denied(int fd)
{
    static const unsigned long left[] = {PERF_EVENT_IOC_ENABLE, PERF_EVENT_IOC_DISABLE, PERF_EVENT_IOC_SET_OUTPUT,
                                         PERF_EVENT_IOC_ID, PERF_EVENT_IOC_PAUSE_OUTPUT};
    bool fine = true;

    for (unsigned long number = 0; number < 256; number++) {
        bool expected = true;
        for (size_t i = 0; i < ARRAY_SIZE(left); i++)
            expected &= (left[i] & 0xff) != number;
        unsigned long request = 0x2400 | number;
        fine &= (errno_of(syscall(SYS_ioctl, fd, request, 0)) == EPERM) == expected;
        fine &= (errno_of(syscall(SYS_ioctl, fd, 0x40080000 | request, 0)) == EPERM) == expected;
        if (sizeof(long) == 8)
            fine &= (errno_of(syscall(SYS_ioctl, fd, (UINT64_C(0xdead) << 32) | request, 0)) == EPERM) == expected;
    }
    return fine && errno_of(ioctl(fd, FIONREAD, &(int){0})) != EPERM;
}

/* The number of the first thing that is not as it should be; 0 where all is. */
static int try_all(bool was_root)
{
    struct perf_event_attr attr = {.size = sizeof(attr), .type = PERF_TYPE_SOFTWARE, .exclude_kernel = 1};
    _cleanup_(closep) int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    const bool checks[] = {
        capabilities_own() == 0,
        !was_root || (getuid() != 0 && geteuid() != 0 && getgid() != 0 && getgroups(0, NULL) == 0),
        prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) == 0,
        prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1,
        !was_root || prctl(PR_CAPBSET_READ, 0, 0, 0, 0) == 0,
        errno_of(syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0)) == EPERM,
        errno_of(syscall(SYS_bpf, 0, NULL, 0)) == EPERM,
        errno_of(syscall(SYS_process_vm_readv, getpid(), NULL, 0, NULL, 0, 0)) == EPERM,
        HAS_ASAN || errno_of(syscall(SYS_ptrace, 0, 0, 0, 0)) == EPERM,
        errno_of(syscall(SYS_keyctl, 0, 0, 0, 0, 0)) == EPERM,
        errno_of(syscall(SYS_init_module, NULL, 0, NULL)) == EPERM,
        errno_of(syscall(SYS_io_uring_setup, 1, NULL)) == EPERM,
        errno_of(unshare(CLONE_NEWUSER)) == EPERM,
        errno_of(syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, NULL, NULL, NULL, NULL)) == EPERM,
        errno_of(syscall(SYS_clone3, NULL, 0)) == ENOSYS,
        errno_of(setuid(0)) == (was_root ? EPERM : errno_of(setuid(0))),
        perf_requests_are_denied(null),
        system("exit 7") == 7 << 8,
    };

    for (int i = 0; i < (int)ARRAY_SIZE(checks); i++)
        if (!checks[i])
            return i + 1;
    return 0;
}

static void test_jail(void **state)
{
    struct error error = {0};
    int status;

    (void)state;
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, NULL, 0, 0) < 0 && errno != EFAULT)
        skip_because("there are no filters of system calls here (%s)", strerror(errno));
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        bool was_root = geteuid() == 0, filtered = false;
        struct user user;
        if (user_choose("", &user, &error) < 0 || daemon_jail_enter(&user, &filtered, &error) < 0)
            _exit(100);
        _exit(filtered ? try_all(was_root) : 101);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_user), cmocka_unit_test(test_jail)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
