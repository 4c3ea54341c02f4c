/* SPDX-License-Identifier: Apache-2.0 */
/* /proc/PID/stat as kernels write it, as strangers may name their processes, and as it never should be. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/process/process-stat.h"
#include "tests/unit/test.h"

#define TICK (NSEC_PER_SEC / (uint64_t)sysconf(_SC_CLK_TCK))
#define TO_TICKS "1 1 1 0 -1 4194560 80127 0 80 0 "

static const struct {
    const char *in;
    int out;
    uint64_t ticks, threads, start, size, pages;
} cases[] = {
    {"713 (perfcountd) S " TO_TICKS "25 17 0 0 20 0 3 0 4021 22933504 1934 18446744073709551615 1 1 0\n", 0, 42, 3,
     4021, 22933504, 1934},
    {"713 (a) R 1 ) ((x) S " TO_TICKS "25 17 2 1 20 0 1 0 4021 22933504 1934", 0, 42, 1, 4021, 22933504, 1934},
    {"713 (\n) D " TO_TICKS "0 0 0 0 -51 0 1 0 18446744073 0 0\n", 0, 0, 1, 18446744073, 0, 0},
    {"713 (gone) Z " TO_TICKS "25 17 0 0 20 0 0 0 4021 0 0 0\n", -ESRCH, 0, 0, 0, 0, 0},
    {"713 (gone) X 0", -ESRCH, 0, 0, 0, 0, 0},
    {"", -EBADMSG, 0, 0, 0, 0, 0},
    {"713 (perfcountd)", -EBADMSG, 0, 0, 0, 0, 0},
    {"713 (perfcountd) ", -EBADMSG, 0, 0, 0, 0, 0},
    {"713 (perfcountd) S", -EBADMSG, 0, 0, 0, 0, 0},
    {"713 (perfcountd) S " TO_TICKS "25 17 0 0 20 0 3 0 4021 22933504", -EBADMSG, 0, 0, 0, 0, 0},
    {"713 (perfcountd) S " TO_TICKS "25 x 0 0 20 0 3 0 4021 22933504 1934 0", -EBADMSG, 0, 0, 0, 0, 0},
};

static void test_parse(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct process_stat stat = {.threads = 99};
        assert_int_equal(process_stat_parse(cases[i].in, &stat), cases[i].out);
        assert_int_equal(stat.threads, cases[i].out < 0 ? 99 : cases[i].threads);
        if (cases[i].out < 0)
            continue;
        assert_int_equal(stat.cpu_ns, cases[i].ticks * TICK);
        assert_int_equal(stat.waited_ns, strstr(cases[i].in, " 2 1 ") ? 3 * TICK : 0);
        assert_int_equal(stat.start_ns, cases[i].start * TICK);
        assert_int_equal(stat.virtual_bytes, cases[i].size);
        assert_int_equal(stat.resident_bytes, cases[i].pages * (uint64_t)sysconf(_SC_PAGESIZE));
    }
}

/* Of this process; the start and the boot agree with the clocks to a second or two. */
static void test_own(void **state)
{
    _cleanup_(closep) int fd = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
    struct process_stat stat;
    struct timespec now, up;
    uint64_t boot;

    (void)state;
    if (runs_emulated())
        skip_because("qemu's /proc/self/stat has few of the numbers");
    assert_int_equal(process_stat_read(fd, &stat), 0);
    assert_int_equal(stat.threads, 1);
    assert_true(stat.virtual_bytes > stat.resident_bytes && stat.resident_bytes > 100000);
    assert_int_equal(process_stat_read_boot(&boot), 0);
    clock_gettime(CLOCK_REALTIME, &now);
    clock_gettime(CLOCK_BOOTTIME, &up);
    assert_in_range(boot / NSEC_PER_SEC, now.tv_sec - up.tv_sec - 2, now.tv_sec - up.tv_sec + 2);
    assert_true(stat.start_ns <= (uint64_t)(up.tv_sec + 2) * NSEC_PER_SEC);
    assert_int_equal(process_stat_read(-1, &stat), -EBADF);
}

/* A descriptor outlives its process, and says so. */
static void test_gone(void **state)
{
    struct process_stat stat;
    char path[32];
    pid_t pid = fork();

    (void)state;
    if (pid == 0)
        for (;;)
            pause();
    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    _cleanup_(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_int_equal(process_stat_read(fd, &stat), 0);
    kill(pid, SIGKILL);
    siginfo_t info;
    assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
    assert_int_equal(process_stat_read(fd, &stat), -ESRCH);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_int_equal(process_stat_read(fd, &stat), -ESRCH);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parse),
        cmocka_unit_test(test_own),
        cmocka_unit_test(test_gone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
