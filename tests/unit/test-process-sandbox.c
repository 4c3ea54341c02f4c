/* SPDX-License-Identifier: Apache-2.0 */
/* The sandboxes of the daemon and the opener, and a kernel without seccomp filters. */
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/compat.h"
#include "process/privileges.h"
#include "process/sandbox.h"
#include "tests/unit/test.h"

#define UNFILTERED 100 /* exit status: the kernel has no seccomp filters */

static int errno_of(long result)
{
    return result < 0 ? errno : 0;
}

/* Simulates a kernel where installing a seccomp filter fails with `error`. */
static bool sim_no_filters(int error)
{
    scmp_filter_ctx context = seccomp_init(SCMP_ACT_ALLOW);
    int r = seccomp_rule_add(context, SCMP_ACT_ERRNO((uint16_t)error), SCMP_SYS(seccomp), 0);

    if (r == 0)
        r = seccomp_rule_add(context, SCMP_ACT_ERRNO((uint16_t)error), SCMP_SYS(prctl), 1,
                             SCMP_A0(SCMP_CMP_EQ, PR_SET_SECCOMP, 0));
    if (r == 0)
        r = seccomp_load(context);
    seccomp_release(context);
    return r == 0;
}

/* A kernel without seccomp filters is accepted; any other failure is an error. */
TEST(test_failures)
{
    static const struct {
        int in;
        const char *out_error; /* how the error begins */
    } cases[] = {
        {EINVAL, NULL},
        {ENOSYS, NULL},
        {ENOMEM, "cannot filter system calls: Cannot allocate memory"},
        {EPERM, "cannot filter system calls: "}, /* libseccomp reports another error instead of EPERM */
        {EFAULT, "cannot filter system calls: Bad address"},
    };

    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, NULL, 0, 0) < 0 && errno != EFAULT)
        skip_because("seccomp filters");
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        for (enum sandbox_kind kind = SANDBOX_OPENER; kind <= SANDBOX_READER; kind++) {
            int status;
            pid_t pid = fork();
            assert_true(pid >= 0);
            if (pid == 0) {
                const struct user user = {.change = false};
                struct sandboxed sandboxed = {.filtered = true};
                struct error error = {0};
                if (!sim_no_filters(cases[i].in))
                    _exit(UNFILTERED);
                int r = sandbox_enter(&(struct sandbox){.kind = kind, .user = &user}, &sandboxed, &error);
                bool failed =
                    r < 0 && sandboxed.filtered && cases[i].out_error && str_starts(error.message, cases[i].out_error);
                _exit(cases[i].out_error ? !failed : r < 0 || sandboxed.filtered);
            }
            assert_int_equal(waitpid(pid, &status, 0), pid);
            print_message("%d, process %d\n", cases[i].in, (int)kind);
            assert_int_equal(status, 0);
        }
}

TEST(test_user)
{
    static const struct {
        const char *in, *out_error;
        uid_t out;
    } cases[] = {
        {"daemon", NULL, 1},
        {"12345", NULL, 12345},
        {"root", "is root, but the listening process must not be root", 0},
        {"0", "is root, but the listening process must not be root", 0},
        {"no-such-user", "there is no user \"no-such-user\"", 0},
        {"-1", "there is no user \"-1\"", 0},
        {"4294967295", "there is no user", 0},
    };
    struct error error;
    struct user user;

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

/* Tries all ioctl numbers of perf, and values that the kernel treats as the same request or as another one. */
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

/* Returns the number of the first failed check, or 0. */
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

TEST(test_daemon)
{
    struct error error = {0};
    int status;

    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, NULL, 0, 0) < 0 && errno != EFAULT)
        skip_because("seccomp filters");
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        bool was_root = geteuid() == 0;
        struct sandboxed sandboxed;
        struct user user;
        if (user_choose("", &user, &error) < 0 ||
            sandbox_enter(&(struct sandbox){.kind = SANDBOX_DAEMON, .user = &user}, &sandboxed, &error) < 0)
            _exit(100);
        _exit(sandboxed.filtered ? try_all(was_root) : 101);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static int result(long r)
{
    return r < 0 ? -errno : 0;
}

/* The attr refers to a map, program or id that does not exist, so only a filter makes the call fail with EPERM. */
static int try_bpf(unsigned long command)
{
    union bpf_attr attr;

    memset(&attr, 0xff, sizeof(attr));
    int r = result(syscall(SYS_bpf, command, &attr, sizeof(attr)));
    return r == -EPERM ? r : 0;
}

static int try_map(unsigned long protection)
{
    _cleanup_(closep) int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    void *page = mmap(NULL, 4096, (int)protection, MAP_PRIVATE, fd, 0);

    return page == MAP_FAILED ? -errno : result(munmap(page, 4096));
}

static int try_map_anonymous(unsigned long protection)
{
    void *page = mmap(NULL, 4096, (int)protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    return page == MAP_FAILED ? -errno : result(munmap(page, 4096));
}

static int try_memory_file(unsigned long flags)
{
    _cleanup_(closep) int fd = memfd_create("test", (unsigned)flags);

    return result(fd);
}

static int try_renumber(unsigned long flags)
{
    _cleanup_(closep) int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), to = open("/", O_RDONLY | O_CLOEXEC);

    return dup3(from, to, (int)flags) < 0 ? -errno : 0;
}

static int try_clone(unsigned long flags)
{
    pid_t pid = (pid_t)syscall(SYS_clone, flags, 0, 0, 0, 0);

    if (pid == 0)
        _exit(0);
    return pid < 0 ? -errno : result(waitpid(pid, NULL, 0));
}

static int try_kill(unsigned long number)
{
    return result(syscall(SYS_kill, 0x7ffffffe, number)) == -ESRCH ? 0 : -errno;
}

static int try_limit(unsigned long resource)
{
    struct rlimit limit;

    return result(getrlimit((__rlimit_resource_t)resource, &limit));
}

static int try_socket(unsigned long domain)
{
    _cleanup_(closep) int fd = socket((int)domain, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    return result(fd);
}

static int try_write_file(unsigned long flags)
{
    _cleanup_(closep) int fd = open("/dev/null", (int)flags | O_CLOEXEC);

    return result(fd);
}

static int try_pause(unsigned long ns)
{
    return result(nanosleep(&(struct timespec){.tv_nsec = (long)ns}, NULL));
}

static int try_execute(unsigned long unused)
{
    return result(execve("/does/not/exist", (char *[]){NULL}, (char *[]){NULL})) == -ENOENT ? 0 : -errno;
}

static int try_remove(unsigned long flags)
{
    return result(unlinkat(AT_FDCWD, "/does/not/exist", (int)flags)) == -ENOENT ? 0 : -errno;
}

static const struct {
    const char *name;
    int (*try)(unsigned long argument);
    unsigned long argument;
    bool with, without; /* permitted to an opener that loads BPF programs, and to one that does not */
    bool removing;      /* the call is also permitted to an opener that removes files */
} trials[] = {
    {"BPF_MAP_UPDATE_ELEM", try_bpf, BPF_MAP_UPDATE_ELEM, true, false, false},
    {"BPF_PROG_LOAD", try_bpf, BPF_PROG_LOAD, true, false, false},
    {"BPF_RAW_TRACEPOINT_OPEN", try_bpf, BPF_RAW_TRACEPOINT_OPEN, true, false, false},
    {"BPF_OBJ_PIN", try_bpf, BPF_OBJ_PIN, false, false, false},
    {"BPF_OBJ_GET", try_bpf, BPF_OBJ_GET, false, false, false},
    {"BPF_PROG_ATTACH", try_bpf, BPF_PROG_ATTACH, false, false, false},
    {"BPF_LINK_CREATE", try_bpf, BPF_LINK_CREATE, false, false, false},
    {"BPF_PROG_GET_NEXT_ID", try_bpf, BPF_PROG_GET_NEXT_ID, false, false, false},
    {"BPF_MAP_GET_FD_BY_ID", try_bpf, BPF_MAP_GET_FD_BY_ID, false, false, false},
    {"BPF_PROG_GET_FD_BY_ID", try_bpf, BPF_PROG_GET_FD_BY_ID, false, false, false},
    {"an executable mapping of a file", try_map, PROT_READ | PROT_EXEC, false, false, false},
    {"a writable and executable mapping of a file", try_map, PROT_WRITE | PROT_EXEC, false, false, false},
    {"an executable anonymous mapping", try_map_anonymous, PROT_READ | PROT_EXEC, false, false, false},
    {"a writable anonymous mapping", try_map_anonymous, PROT_READ | PROT_WRITE, true, true, false},
    {"a memfd", try_memory_file, MFD_CLOEXEC, true, false, false},
    {"a memfd without MFD_CLOEXEC", try_memory_file, 0, false, false, false},
    {"dup3()", try_renumber, O_CLOEXEC, true, false, false},
    {"fork()", try_clone, SIGCHLD, true, false, false},
    {"a child in a new user namespace", try_clone, SIGCHLD | CLONE_NEWUSER, false, false, false},
    {"SIGKILL", try_kill, SIGKILL, true, false, false},
    {"SIGTERM", try_kill, SIGTERM, false, false, false},
    {"changing RLIMIT_MEMLOCK", try_limit, RLIMIT_MEMLOCK, true, false, false},
    {"changing RLIMIT_NOFILE", try_limit, RLIMIT_NOFILE, false, false, false},
    {"a network socket", try_socket, AF_INET, false, false, false},
    {"opening a file for writing", try_write_file, O_WRONLY, false, false, false},
    {"execve()", try_execute, 0, false, false, false},
    {"a call that only waits", try_pause, 0, true, false, false},
    {"removing a file", try_remove, 0, false, false, true},
    {"removing a directory", try_remove, AT_REMOVEDIR, false, false, false},
};

/* Exits with 1 plus the index of the first trial that has an unexpected result. */
static _Noreturn void run(unsigned work)
{
    bool bpf = work & SANDBOX_LOADS_BPF, removes = work & SANDBOX_REMOVES;
    struct sandboxed sandboxed;

    if (sandbox_enter(&(struct sandbox){.kind = SANDBOX_OPENER, .work = work}, &sandboxed, NULL) < 0)
        _exit(UNFILTERED + 1);
    if (!sandboxed.filtered)
        _exit(UNFILTERED);
    if ((sandboxed.capabilities >> CAP_BPF & 1) != bpf)
        _exit(UNFILTERED + 2);
    for (size_t i = 0; i < ARRAY_SIZE(trials); i++) {
        bool passes = (bpf ? trials[i].with : trials[i].without) || (removes && trials[i].removing);
        if (trials[i].try(trials[i].argument) != (passes ? 0 : -EPERM))
            _exit(1 + (int)i);
    }
    _exit(0);
}

static void check(unsigned work)
{
    int status;

    if (!(capabilities_own() >> CAP_BPF & 1))
        skip_because("CAP_BPF");
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        run(work);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == UNFILTERED)
        skip_because("seccomp filters");
    if (WEXITSTATUS(status) > UNFILTERED)
        fail_msg("sandbox check %d failed", WEXITSTATUS(status) - UNFILTERED);
    if (WEXITSTATUS(status))
        fail_msg("%s", trials[WEXITSTATUS(status) - 1].name);
}

TEST(test_opener)
{
    check(SANDBOX_LOADS_BPF);
    check(0);
    check(SANDBOX_REMOVES);
}

/* The reader forks for each file, and must not create threads or processes that share anything with it. */
TEST(test_reader)
{
    static const struct {
        unsigned long in;
        int out;
    } flags[] = {
        {SIGCHLD, 0},
        {SIGCHLD | CLONE_NEWUSER, -EPERM},
        {SIGCHLD | CLONE_FILES, -EPERM},
        {SIGCHLD | CLONE_PARENT, -EPERM},
        {SIGCHLD | CLONE_VM, -EPERM},
        {SIGCHLD | CLONE_VM | CLONE_SIGHAND | CLONE_THREAD, -EPERM},
        {0, -EPERM},
    };
    int status;
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0) {
        struct sandboxed sandboxed;
        if (sandbox_enter(&(struct sandbox){.kind = SANDBOX_READER}, &sandboxed, NULL) < 0)
            _exit(UNFILTERED + 1);
        for (size_t i = 0; sandboxed.filtered && i < ARRAY_SIZE(flags); i++)
            if (try_clone(flags[i].in) != flags[i].out)
                _exit(1 + (int)i);
        _exit(sandboxed.filtered ? 0 : UNFILTERED);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (WIFEXITED(status) && WEXITSTATUS(status) == UNFILTERED)
        skip_because("seccomp filters");
    assert_int_equal(status, 0);
}

#define BIT(capability) (UINT64_C(1) << (capability))
#define OLD (BIT(CAP_SYS_ADMIN) | BIT(CAP_DAC_READ_SEARCH) | BIT(CAP_SYS_PTRACE) | BIT(CAP_SYSLOG))
#define IN_5_8 (OLD | BIT(CAP_PERFMON) | BIT(CAP_BPF))
#define ALL (IN_5_8 | BIT(CAP_CHECKPOINT_RESTORE))
#define LEAST (BIT(CAP_PERFMON) | BIT(CAP_DAC_READ_SEARCH))

/* CAP_SYS_ADMIN is kept only if no newer capability replaces it. */
TEST(test_opener_capabilities)
{
    static const struct {
        const char *name;
        bool in_sampling, in_bpf, in_needs_admin;
        uint64_t in, out;
    } cases[] = {
        {"a recent kernel", false, false, false, ALL, LEAST},
        {"the BPF engine", false, true, false, ALL, LEAST | BIT(CAP_BPF)},
        {"sampling", true, false, false, ALL, ALL & ~(BIT(CAP_SYS_ADMIN) | BIT(CAP_BPF))},
        {"sampling and the BPF engine", true, true, false, ALL, ALL & ~BIT(CAP_SYS_ADMIN)},
        {"other capabilities of root are dropped", false, false, false, UINT64_MAX, LEAST},
        {"a kernel on which CAP_PERFMON does not suffice", false, false, true, ALL, LEAST | BIT(CAP_SYS_ADMIN)},
        {"the same kernel, but CAP_SYS_ADMIN is missing", false, false, true, ALL & ~BIT(CAP_SYS_ADMIN), LEAST},
        {"Linux 5.7, which lacks CAP_PERFMON", false, false, false, OLD, BIT(CAP_SYS_ADMIN) | BIT(CAP_DAC_READ_SEARCH)},
        {"Linux 5.8", false, true, false, IN_5_8, LEAST | BIT(CAP_BPF)},
        {"Linux 5.8 with sampling", true, true, false, IN_5_8, IN_5_8},
        {"the BPF engine without CAP_BPF", false, true, false, ALL & ~BIT(CAP_BPF), LEAST | BIT(CAP_SYS_ADMIN)},
        {"the perf engine without CAP_BPF", false, false, false, ALL & ~BIT(CAP_BPF), LEAST},
        {"setcap cap_perfmon", true, true, false, BIT(CAP_PERFMON), BIT(CAP_PERFMON)},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        unsigned work = (cases[i].in_sampling ? SANDBOX_SAMPLES : 0) | (cases[i].in_bpf ? SANDBOX_LOADS_BPF : 0) |
                        (cases[i].in_needs_admin ? SANDBOX_NEEDS_ADMIN : 0);
        print_message("%s\n", cases[i].name);
        assert_true(sandbox_capabilities(work, cases[i].in) == cases[i].out);
    }
}

TEST_MAIN(NULL, NULL)
