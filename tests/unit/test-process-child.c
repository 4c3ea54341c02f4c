/* SPDX-License-Identifier: Apache-2.0 */
/* Child processes: how they start, /proc/PID/stat, and the path of the running program. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "process/child.h"
#include "process/fdpass.h"
#include "process/stragglers.h"
#include "tests/unit/test.h"

#define BUSY_NS (60 * (NSEC_PER_SEC / 1000))

static uint64_t own_cpu(void)
{
    struct timespec now;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * NSEC_PER_SEC + (uint64_t)now.tv_nsec;
}

/*
 * Starts a child that uses BUSY_NS of CPU time, then exits with `status`. If `status` is negative, the child waits to
 * be killed instead.
 */
static void start(struct child *child, int status)
{
    child->pid = fork();
    assert_true(child->pid >= 0);
    if (child->pid == 0) {
        while (own_cpu() < BUSY_NS)
            continue;
        while (status < 0)
            pause();
        _exit(status);
    }
    char path[32];
    snprintf(path, sizeof(path), "/proc/%d/stat", (int)child->pid);
    child->stat_fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(child->stat_fd >= 0);
}

static void wait_for_end(const struct child *child)
{
    siginfo_t info;

    assert_int_equal(waitid(P_PID, (id_t)child->pid, &info, WEXITED | WNOWAIT), 0);
}

TEST(test_lives)
{
    struct child child = CHILD_NONE;
    struct process_stat stat;
    int status;

    start(&child, 7);
    wait_for_end(&child);
    assert_int_equal(child_read(&child, &stat), -ESRCH);
    assert_true(child_reap(&child, &status));
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 7);
    assert_int_equal(child.pid, 0);
    assert_int_equal(child.stat_fd, -1);
    assert_int_equal(child_read(&child, &stat), -ESRCH);
    assert_true(child_reap(&child, &status));
    uint64_t first = child.ended_cpu_ns;
    assert_true(first >= BUSY_NS - NSEC_PER_SEC / 100);
    /* The CPU time of the second child is added to that of the first. */
    start(&child, -1);
    assert_int_equal(child_read(&child, &stat), 0);
    assert_true(stat.cpu_ns >= first);
    assert_in_range(stat.threads, 1, runs_emulated() ? 2 : 1); /* qemu adds a thread */
    assert_false(child_reap(&child, &status));
    while (stat.cpu_ns < first + BUSY_NS - NSEC_PER_SEC / 50)
        assert_int_equal(child_read(&child, &stat), 0);
    uint64_t last = stat.cpu_ns;
    kill(child.pid, SIGKILL);
    wait_for_end(&child);
    assert_true(child_reap(&child, &status));
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    assert_true(child.ended_cpu_ns >= last);
}

/* What a child does after it is forked. */
enum beginning { BEGINS, FAILS, IS_KILLED, HANGS };

struct beginner {
    enum beginning beginning;
    pid_t parent;
    int kept, closed;
};

static int begin(void *userdata, int socket, struct child_hello *ret, struct error *error)
{
    const struct beginner *beginner = userdata;
    char name[16] = "";

    prctl(PR_GET_NAME, name);
    if (beginner->beginning == FAILS)
        return error_set(error, -ENOKEY, "there is no key");
    if (beginner->beginning == IS_KILLED)
        raise(SIGKILL);
    while (beginner->beginning == HANGS)
        pause();
    bool fine = getppid() == beginner->parent && str_equal(name, "test-child") && fcntl(socket, F_GETFD) >= 0 &&
                fcntl(beginner->kept, F_GETFD) >= 0 && fcntl(beginner->closed, F_GETFD) < 0;
    ret->fds.fds[ret->fds.n++] = open("/dev/null", O_RDONLY | O_CLOEXEC);
    ret->filtered = true;
    ret->capabilities = 5;
    return fine ? 0 : error_set(error, -EIO, "the child is not as it should be");
}

/* Receives a byte, sends it back, and returns. */
static int serve(void *userdata, int socket)
{
    char byte;
    int fd, r = fd_socket_receive_one(socket, &byte, 1, &fd);

    (void)userdata;
    return r < 0 ? r : fd_socket_send_one(socket, &byte, 1, -1);
}

static int start_beginner(enum beginning beginning, bool serves, struct child *ret, int *ret_socket,
                          struct child_hello *ret_hello, struct error *error)
{
    _cleanup_(closep) int kept = open("/", O_RDONLY | O_CLOEXEC), closed = open("/", O_RDONLY | O_CLOEXEC);
    struct beginner beginner = {beginning, getpid(), kept, closed};
    const struct child_plan plan = {
        .name = "test-child",
        .failure = "the child does not start",
        .remedy = "; do without",
        .patience_s = beginning == HANGS ? 1 : 60,
        .kept = {.n = 1, .fds = {kept}},
        .userdata = &beginner,
        .begin = begin,
        .serve = serves ? serve : NULL,
    };

    return child_start(&plan, ret, ret_socket, ret_hello, error);
}

static void assert_no_child(void)
{
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
}

TEST(test_start)
{
    for (int serves = 0; serves < 2; serves++) {
        struct child child = CHILD_NONE;
        struct child_hello hello = {0};
        struct process_stat stat;
        struct error error = {0};
        int socket = -1, fd, status = -1;
        char byte;
        if (start_beginner(BEGINS, serves, &child, &socket, &hello, &error) < 0)
            fail_msg("%s", error.message);
        assert_int_equal(hello.fds.n, 1);
        assert_true(hello.filtered && hello.capabilities == 5);
        fd_list_close(&hello.fds);
        if (serves) {
            assert_int_equal(child_read(&child, &stat), 0);
            assert_int_equal(fd_socket_send_one(socket, "x", 1, -1), 0);
            assert_int_equal(fd_socket_receive_one(socket, &byte, 1, &fd), 0);
            assert_true(child_wait(&child, 60 * NSEC_PER_SEC, &status));
            assert_int_equal(status, 0);
        }
        assert_int_equal(child.pid, 0);
        assert_int_equal(child.stat_fd, -1);
        assert_int_equal(fd_socket_receive_one(socket, &byte, 1, &fd), -EPIPE);
        assert_no_child();
        close(socket);
    }
}

TEST(test_failed_starts)
{
    static const struct {
        enum beginning in;
        int out;
        const char *out_start, *out_end;
    } starts[] = {
        {FAILS, -ENOKEY, "there is no key", "there is no key"},
        {IS_KILLED, -EPIPE, "the child does not start: process ", " was killed by signal 9 (Killed); do without"},
        {HANGS, -ETIMEDOUT, "the child does not start within 1 seconds; do without", "; do without"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(starts); i++)
        for (int serves = 0; serves < 2; serves++) {
            struct child child = {.pid = 99, .stat_fd = 99};
            struct child_hello hello = {.capabilities = 99};
            struct error error = {0};
            int socket = 99;
            assert_int_equal(start_beginner(starts[i].in, serves, &child, &socket, &hello, &error), starts[i].out);
            assert_true(str_starts(error.message, starts[i].out_start));
            assert_true(str_ends(error.message, starts[i].out_end));
            assert_true(child.pid == 99 && child.stat_fd == 99 && socket == 99 && hello.capabilities == 99);
            assert_no_child();
        }
}

/*
 * Tries descriptor limits that leave no room for the socket pair, or for the descriptors that the child returns.
 * start_beginner() itself uses two descriptors.
 */
TEST(test_start_without_room)
{
    struct rlimit before, none;

    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    int next = dup(STDIN_FILENO);
    close(next);
    for (rlim_t room = 3; room < 5; room++) {
        struct child child;
        struct child_hello hello;
        struct error error = {0};
        int socket;
        none = (struct rlimit){(rlim_t)next + room, before.rlim_max};
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
        int r = start_beginner(BEGINS, true, &child, &socket, &hello, &error);
        setrlimit(RLIMIT_NOFILE, &before);
        assert_int_equal(r, -EMFILE);
        assert_string_equal(error.message, "the child does not start: Too many open files; do without");
        assert_no_child();
    }
}

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

TEST(test_parse)
{
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

static int64_t seconds_of(clockid_t clock)
{
    struct timespec now;

    assert_int_equal(clock_gettime(clock, &now), 0);
    return now.tv_sec;
}

/* The boot time is compared with clocks that are read before and after it, as time passes in between. */
TEST(test_own)
{
    _cleanup_(closep) int fd = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
    struct process_stat stat;
    uint64_t boot;

    if (runs_emulated())
        skip_because("all of /proc/self/stat under qemu");
    assert_int_equal(process_stat_read(fd, &stat), 0);
    assert_int_equal(stat.threads, 1);
    assert_true(stat.virtual_bytes > stat.resident_bytes && stat.resident_bytes > 100000);
    assert_true((int64_t)(stat.start_ns / NSEC_PER_SEC) <= seconds_of(CLOCK_BOOTTIME) + 1);
    int64_t up = seconds_of(CLOCK_BOOTTIME), now = seconds_of(CLOCK_REALTIME);
    assert_int_equal(process_stat_read_boot(&boot), 0);
    assert_in_range(boot / NSEC_PER_SEC, now - seconds_of(CLOCK_BOOTTIME) - 2, seconds_of(CLOCK_REALTIME) - up + 2);
    assert_int_equal(process_stat_read(-1, &stat), -EBADF);
}

static char own_path[4096];

static void run(const char *command, char *text, int size)
{
    FILE *pipe = popen(command, "r");

    assert_non_null(pipe);
    assert_non_null(fgets(text, size, pipe));
    assert_int_equal(pclose(pipe), 0);
}

TEST(test_path)
{
    char text[PROGRAM_PATH_MAX + 1];

    program_path(text, sizeof(text));
    assert_string_equal(text, own_path);
}

TEST(test_hostile_path)
{
    char directory[] = "/tmp/test program;$(x).XXXXXX", command[3 * sizeof(own_path)], text[PROGRAM_PATH_MAX + 1];

    if (runs_emulated())
        skip_because("a shell that starts programs of other architectures");
    assert_non_null(mkdtemp(directory));
    snprintf(command, sizeof(command), "cp '%s' '%s/x' && '%s/x' print", own_path, directory, directory);
    run(command, text, sizeof(text));
    assert_string_equal(text, "$(command -v perfcountd)");
    snprintf(command, sizeof(command), "rm -r '%s' && echo done", directory);
    run(command, text, sizeof(text));
}

/* Starts a child that runs until it is killed, and adds it as a straggler of `user` with this deadline. */
static struct straggler add_straggler(struct stragglers *stragglers, uint32_t user, uint64_t deadline_ns)
{
    struct straggler straggler = {.pid = fork(), .user = user, .deadline_ns = deadline_ns, .ticket = user};

    assert_true(straggler.pid >= 0);
    while (straggler.pid == 0)
        pause();
    straggler.pidfd = straggler_open(straggler.pid);
    stragglers_add(stragglers, &straggler);
    return straggler;
}

static void end_straggler(struct stragglers *stragglers, const struct straggler *straggler, uint64_t now)
{
    siginfo_t info;

    kill(straggler->pid, SIGKILL);
    assert_int_equal(waitid(P_PID, (id_t)straggler->pid, &info, WEXITED | WNOWAIT), 0);
    stragglers_tend(stragglers, now, NULL, NULL);
}

TEST(test_stragglers_are_few)
{
    struct stragglers stragglers = {0};
    struct straggler added[STRAGGLERS_MAX + 1];

    for (uint32_t user = 1; user <= STRAGGLERS_MAX; user++) {
        assert_true(stragglers_patience(&stragglers, user, 5) > 0);
        added[user] = add_straggler(&stragglers, user, 10);
        assert_int_equal(stragglers_patience(&stragglers, user, 5), 0);
    }
    assert_int_equal(stragglers_patience(&stragglers, 1000, 5), 0);
    assert_true(stragglers_patience(&stragglers, 0, 5) > 0); /* root is not limited by other users' stragglers */
    added[0] = add_straggler(&stragglers, 0, 10);
    assert_int_equal(stragglers_patience(&stragglers, 0, 5), 0);
    end_straggler(&stragglers, &added[2], 5);
    assert_true(stragglers_patience(&stragglers, 1000, 5) > 0);
    assert_int_equal(stragglers_patience(&stragglers, 1, 5), 0);
    assert_int_equal(stragglers_patience(&stragglers, 0, 5), 0);
    for (size_t i = 0; i < ARRAY_SIZE(added); i++)
        if (i != 2)
            end_straggler(&stragglers, &added[i], 5);
    assert_int_equal(stragglers.n, 0);
}

/* The number of calls of receive_over(), and the arguments of the last one. */
struct received {
    size_t n;
    uint64_t ticket;
    int status;
};

static void receive_over(void *userdata, const struct straggler *straggler, int status)
{
    struct received *received = userdata;

    *received = (struct received){received->n + 1, straggler->ticket, status};
}

/* A straggler is killed once, at its deadline, and remains in the list until it has exited. */
TEST(test_straggler_at_its_deadline)
{
    struct stragglers stragglers = {0};
    struct straggler straggler = add_straggler(&stragglers, 7, 10);
    struct received received = {0};

    assert_int_equal(stragglers_due(&stragglers), 10);
    stragglers_tend(&stragglers, 9, receive_over, &received);
    assert_int_equal(received.n, 0);
    stragglers_tend(&stragglers, 10, receive_over, &received);
    assert_int_equal(received.n, 1);
    assert_int_equal(received.ticket, 7);
    assert_int_equal(received.status, -1);
    assert_int_equal(stragglers_due(&stragglers), UINT64_MAX);
    assert_int_equal(stragglers_patience(&stragglers, 7, 11), 0);
    end_straggler(&stragglers, &straggler, 12);
    assert_int_equal(received.n, 1);
    assert_true(stragglers_patience(&stragglers, 7, 12) > 0);
}

/* A straggler that exits before its deadline is reported with its exit status. */
TEST(test_straggler_ends)
{
    struct stragglers stragglers = {0};
    struct received received = {0};
    siginfo_t info;
    struct straggler straggler = {.pid = fork(), .pidfd = -1, .user = 7, .deadline_ns = 10};

    if (straggler.pid == 0)
        _exit(3);
    stragglers_add(&stragglers, &straggler);
    assert_int_equal(waitid(P_PID, (id_t)straggler.pid, &info, WEXITED | WNOWAIT), 0);
    stragglers_tend(&stragglers, 20, receive_over, &received);
    assert_int_equal(received.n, 1);
    assert_int_equal(WEXITSTATUS(received.status), 3);
    assert_int_equal(stragglers.n, 0);
}

/*
 * Each step takes place at `at_ms`: first it asks how long the caller may still wait for this user, then the caller
 * waits.
 */
TEST(test_waiting_is_limited)
{
    static const struct {
        uint64_t at_ms, out_patience_ms, waited_ms;
    } steps[] = {
        {1000, 250, 100}, {1000, 150, 100}, {1000, 50, 50}, {1000, 0, 0},   {1999, 0, 0},    {2000, 50, 0},
        {6000, 250, 0},   {9000, 250, 300}, {9000, 0, 0},   {11000, 50, 0}, {15000, 250, 0},
    };
    struct stragglers stragglers = {0};

    for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
        uint64_t at = steps[i].at_ms * NSEC_PER_MSEC;
        print_message("%zu\n", i);
        assert_int_equal(stragglers_patience(&stragglers, 7, at) / NSEC_PER_MSEC, steps[i].out_patience_ms);
        stragglers_count_wait(&stragglers, 7, at, steps[i].waited_ms * NSEC_PER_MSEC);
        assert_int_equal(stragglers_patience(&stragglers, 8, at) / NSEC_PER_MSEC, 250);
    }
    /* A user's waiting time is not forgotten when many other users with shorter waits follow. */
    stragglers_count_wait(&stragglers, 7, 15000 * NSEC_PER_MSEC, 250 * NSEC_PER_MSEC);
    for (uint32_t user = 100; user < 200; user++)
        stragglers_count_wait(&stragglers, user, 15000 * NSEC_PER_MSEC, NSEC_PER_MSEC);
    assert_int_equal(stragglers_patience(&stragglers, 7, 15000 * NSEC_PER_MSEC), 0);
}

int main(int argc, char **argv)
{
    char text[PROGRAM_PATH_MAX + 1];

    if (argc > 1) {
        program_path(text, sizeof(text));
        return fputs(text, stdout) < 0;
    }
    if (readlink("/proc/self/exe", own_path, sizeof(own_path) - 1) < 0)
        return 1;
    return run_all_tests("tests", NULL, NULL);
}
