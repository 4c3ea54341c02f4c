/* SPDX-License-Identifier: Apache-2.0 */
/* System calls of the opener in its jail: those of a tally are there where it was started for one, and no others. */
#include <fcntl.h>
#include <linux/bpf.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/process/capabilities.h"
#include "opener/jail.h"
#include "tests/unit/test.h"

#define UNFILTERED 100 /* an exit status: the kernel has no filters */

static int result(long r)
{
    return r < 0 ? -errno : 0;
}

/* A map, program or id that there is not. */
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

static int try_execute(unsigned long unused)
{
    (void)unused;
    return result(execve("/does/not/exist", (char *[]){NULL}, (char *[]){NULL})) == -ENOENT ? 0 : -errno;
}

static const struct {
    const char *name;
    int (*try)(unsigned long argument);
    unsigned long argument;
    bool with, without; /* whether it is let through with a tally, and without */
} trials[] = {
    {"BPF_MAP_UPDATE_ELEM", try_bpf, BPF_MAP_UPDATE_ELEM, true, false},
    {"BPF_PROG_LOAD", try_bpf, BPF_PROG_LOAD, true, false},
    {"BPF_RAW_TRACEPOINT_OPEN", try_bpf, BPF_RAW_TRACEPOINT_OPEN, true, false},
    {"BPF_OBJ_PIN", try_bpf, BPF_OBJ_PIN, false, false},
    {"BPF_OBJ_GET", try_bpf, BPF_OBJ_GET, false, false},
    {"BPF_PROG_ATTACH", try_bpf, BPF_PROG_ATTACH, false, false},
    {"BPF_LINK_CREATE", try_bpf, BPF_LINK_CREATE, false, false},
    {"BPF_PROG_GET_NEXT_ID", try_bpf, BPF_PROG_GET_NEXT_ID, false, false},
    {"BPF_PROG_GET_FD_BY_ID", try_bpf, BPF_PROG_GET_FD_BY_ID, false, false},
    {"a file mapped as code", try_map, PROT_READ | PROT_EXEC, true, false},
    {"a file mapped as code and for writing", try_map, PROT_WRITE | PROT_EXEC, false, false},
    {"memory mapped as code", try_map_anonymous, PROT_READ | PROT_EXEC, false, false},
    {"memory", try_map_anonymous, PROT_READ | PROT_WRITE, true, true},
    {"a child", try_clone, SIGCHLD, true, false},
    {"a child in a namespace of its own", try_clone, SIGCHLD | CLONE_NEWUSER, false, false},
    {"SIGKILL", try_kill, SIGKILL, true, false},
    {"SIGTERM", try_kill, SIGTERM, false, false},
    {"the limit of locked memory", try_limit, RLIMIT_MEMLOCK, true, false},
    {"the limit of files", try_limit, RLIMIT_NOFILE, false, false},
    {"a socket of the network", try_socket, AF_INET, false, false},
    {"a file for writing", try_write_file, O_WRONLY, false, false},
    {"another program", try_execute, 0, false, false},
};

/* The exit status: 1 and the index of a trial that was not as it should be. */
static _Noreturn void run(bool tally, pid_t daemon)
{
    const struct opener_rules rules = {.daemon = daemon, .permissions = {.tally_slots = tally ? 256 : 0}};
    uint64_t capabilities;
    bool filtered;

    if (opener_jail_enter(-1, -1, &rules, &capabilities, &filtered, NULL) < 0)
        _exit(UNFILTERED + 1);
    if (!filtered)
        _exit(UNFILTERED);
    if ((capabilities >> CAP_BPF & 1) != tally)
        _exit(UNFILTERED + 2);
    for (size_t i = 0; i < ARRAY_SIZE(trials); i++)
        if (trials[i].try(trials[i].argument) != ((tally ? trials[i].with : trials[i].without) ? 0 : -EPERM))
            _exit(1 + (int)i);
    _exit(0);
}

static void check(bool tally)
{
    pid_t daemon = getpid();
    int status;

    if (!(capabilities_own() >> CAP_BPF & 1))
        skip_because("this process has no CAP_BPF");
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        run(tally, daemon);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == UNFILTERED)
        skip_because("the kernel has no filters of system calls");
    if (WEXITSTATUS(status) > UNFILTERED)
        fail_msg("the jail: %d", WEXITSTATUS(status) - UNFILTERED);
    if (WEXITSTATUS(status))
        fail_msg("%s", trials[WEXITSTATUS(status) - 1].name);
}

static void test_with_tally(void **state)
{
    (void)state;
    check(true);
}

static void test_without_tally(void **state)
{
    (void)state;
    check(false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_with_tally), cmocka_unit_test(test_without_tally)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
