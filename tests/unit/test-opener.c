/* SPDX-License-Identifier: Apache-2.0 */
/* The opener: what it opens and refuses, its event limits, state files, BPF programs, and how its process ends. */
#include <fcntl.h>
#include <ftw.h>
#include <linux/magic.h>
#include <seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cgroups/cgroupfs.h"
#include "opener/client.h"
#include "opener/opener-server.h"
#include "process/fdpass.h"
#include "tests/unit/opener-rig.h"
#include "tests/unit/test.h"

/* Starts a process that only waits, as an opener does whose socket the daemon has closed. */
static struct opener *idle_opener(void)
{
    struct opener *opener = calloc(1, sizeof(*opener));
    int started[2];
    char byte;

    assert_non_null(opener);
    assert_int_equal(pipe(started), 0);
    opener->client.socket = -1;
    opener->child = CHILD_NONE;
    opener->child.pid = fork();
    assert_true(opener->child.pid >= 0);
    if (opener->child.pid == 0) {
        prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
        (void)!write(started[1], "", 1);
        for (;;)
            pause();
    }
    assert_int_equal(read(started[0], &byte, 1), 1);
    close(started[0]);
    close(started[1]);
    return opener;
}

/* Traces a process, so that its parent cannot reap it, as if it hung in the kernel. Returns the tracer, or 0. */
static pid_t trace(pid_t pid)
{
    int started[2];
    char answer;

    assert_int_equal(pipe(started), 0);
    pid_t tracer = fork();
    assert_true(tracer >= 0);
    if (tracer == 0) {
        answer = ptrace(PTRACE_SEIZE, pid, NULL, NULL) == 0 ? 'y' : 'n';
        (void)!write(started[1], &answer, 1);
        for (;;)
            pause();
    }
    assert_int_equal(read(started[0], &answer, 1), 1);
    close(started[0]);
    close(started[1]);
    if (answer == 'y')
        return tracer;
    kill(tracer, SIGKILL);
    waitpid(tracer, NULL, 0);
    return 0;
}

static void await_end(struct opener *opener)
{
    eventually(opener_reap(opener), "the opener's process to end");
}

static void assert_end(struct opener *opener, const char *expected)
{
    char text[128];

    opener->pid = 713;
    opener_describe_end(opener, text, sizeof(text));
    assert_string_equal(text, expected);
}

TEST(test_ends)
{
    struct opener *opener = idle_opener();
    pid_t pid = opener->child.pid;

    assert_false(opener_reap(opener));
    opener_kill(opener);
    assert_true(opener->client.lost);
    await_end(opener);
    assert_true(opener_reap(opener));
    assert_int_equal(kill(pid, 0), -1);
    assert_end(opener, "process 713 sent an invalid reply and was killed");
    opener_free(opener);
}

/* An opener that exited by itself is described by its own exit status, even if it is killed afterwards. */
TEST(test_says_how_it_ended)
{
    struct opener *opener = idle_opener();

    kill(opener->child.pid, SIGUSR1);
    opener_kill(opener);
    await_end(opener);
    assert_end(opener, "process 713 was killed by signal 10 (User defined signal 1)");
    opener->status = 3 << 8;
    assert_end(opener, "process 713 exited with status 3");
    opener_free(opener);
}

TEST(test_stopped_is_reaped_when_freed)
{
    struct opener *opener = idle_opener();
    pid_t pid = opener->child.pid;

    kill(pid, SIGSTOP);
    opener_free(opener);
    assert_int_equal(waitpid(pid, NULL, WNOHANG), -1);
}

TEST(test_does_not_end)
{
    struct opener *opener = idle_opener();
    pid_t tracer = trace(opener->child.pid), pid = opener->child.pid;

    if (!tracer) {
        opener_free(opener);
        skip_because("permission to ptrace");
    }
    alarm(60); /* ends the test if one of these calls blocks */
    assert_false(opener_kill(opener));
    assert_false(opener_reap(opener));
    opener_free(opener);
    alarm(0);
    kill(tracer, SIGKILL);
    waitpid(tracer, NULL, 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

TEST_WITH_OPENER(test_group)
{
    struct perf_event_attr attrs[] = {opener_rig_event(FIRST_ERROR + ENOENT), opener_rig_event(1),
                                      opener_rig_event(FIRST_ERROR + EINVAL), opener_rig_event(2)};
    struct sys_group group = {.attrs = attrs, .n = 4, .pid = -1, .cpu = 3, .leader = -1};
    int fds[4];

    opener_rig_open_group(&group, fds);
    assert_int_equal(fds[0], -ENOENT);
    assert_int_equal(fds[2], -EINVAL);
    opener_rig_assert_opened(fds[1], "config 1 pid -1 cpu 3 leads disabled");
    opener_rig_assert_opened(fds[3], "config 2 pid -1 cpu 3 joins");
    /* If `whole` is true, the first event that cannot be opened ends the group. */
    group.whole = true;
    group.attrs = attrs + 1;
    group.n = 3;
    opener_rig_open_group(&group, fds);
    opener_rig_assert_opened(fds[0], "config 1 pid -1 cpu 3 leads disabled");
    assert_int_equal(fds[1], -EINVAL);
    assert_int_equal(fds[2], -ECANCELED);
}

TEST_WITH_OPENER(test_single_and_leader)
{
    struct perf_event_attr attr = opener_rig_event(5);
    char expected[128];

    int leader = sys_perf_event_open(&rig.daemon, &attr, 0, -1, -1, 0);
    int sibling = sys_perf_event_open(&rig.daemon, &attr, 0, -1, leader, 0);
    snprintf(expected, sizeof(expected), "config 5 pid %d cpu -1 joins", (int)getpid());
    opener_rig_assert_opened(sibling, expected);
    snprintf(expected, sizeof(expected), "config 5 pid %d cpu -1 leads disabled", (int)getpid());
    opener_rig_assert_opened(leader, expected);
    assert_int_equal(sys_perf_event_open(&rig.daemon, &attr, 1, -1, -1, 0), -EBADRQC);
}

/* Event names that do not fit into one packet are sent in several, and the events still form one group. */
TEST_WITH_OPENER(test_long_texts)
{
    struct perf_event_attr attrs[8];
    const char *texts[8];
    struct sys_group group = {.attrs = attrs, .texts = texts, .n = 8, .pid = -1, .leader = -1};
    char name[4001], expected[512];
    struct opener_permitted_event permitted[] = {{.type = KPROBE, .text = name},
                                                 {.type = KPROBE, .config = 1, .text = name}};
    int fds[8];

    memset(name, 'f', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    for (size_t i = 0; i < 8; i++) {
        attrs[i] = opener_rig_event(i % 2);
        attrs[i].type = KPROBE;
        texts[i] = name;
    }
    opener_rig_permit(permitted, ARRAY_SIZE(permitted));
    opener_rig_open_group(&group, fds);
    for (size_t i = 0; i < 8; i++) {
        snprintf(expected, sizeof(expected), "config %zu pid -1 cpu 0 %s%.100s", i % 2, i ? "joins" : "leads disabled",
                 name);
        opener_rig_assert_opened(fds[i], expected);
    }
    assert_int_equal(rig.n_sealed, 8);
}

/*
 * The opener opens the probed program first and passes that file to the kernel, as a symbolic link in the path could
 * change in between.
 */
TEST_WITH_OPENER(test_programs)
{
    char directory[] = "/tmp/test-opener-server.XXXXXX", path[64];
    struct perf_event_attr attr = opener_rig_event(1);
    const char *text = path;
    const struct sys_group group = {.attrs = &attr, .texts = &text, .n = 1, .pid = -1, .leader = -1};
    struct opener_permitted_event event = {.type = KPROBE, .config = 1, .text = path};
    int fd;

    assert_non_null(mkdtemp(directory));
    snprintf(path, sizeof(path), "%s/program", directory);
    attr.type = KPROBE;
    opener_rig_permit(&event, 1);
    opener_rig_open_group(&group, &fd);
    assert_int_equal(fd, -ENOENT);
    close(open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0700));
    opener_rig_open_group(&group, &fd);
    char found[256] = "";
    assert_true(fd >= 0 && read(fd, found, sizeof(found) - 1) > 0);
    assert_non_null(strstr(found, "leads disabled/proc/self/fd/"));
    close(fd);
    assert_int_equal(chmod(directory, 0777), 0);
    opener_rig_open_group(&group, &fd);
    assert_int_equal(fd, -EBADRQC);
    unlink(path);
    rmdir(directory);
}

/* A tracepoint that rejects the opener's filter is not passed on, since it might accept an attacker's filter. */
TEST_WITH_OPENER(test_seal)
{
    struct perf_event_attr attrs[] = {opener_rig_event(1), opener_rig_event(2), opener_rig_event(3)};
    struct sys_group group = {.attrs = attrs, .n = 3, .pid = -1, .leader = -1};
    struct opener_permitted_event permitted[] = {{.type = PERF_TYPE_TRACEPOINT, .config = 1},
                                                 {.type = PERF_TYPE_TRACEPOINT, .config = 2}};
    int fds[3];

    attrs[0].type = attrs[1].type = PERF_TYPE_TRACEPOINT;
    opener_rig_permit(permitted, ARRAY_SIZE(permitted));
    opener_rig_open_group(&group, fds);
    opener_rig_assert_opened(fds[0], "config 1 pid -1 cpu 0 leads disabled");
    opener_rig_assert_opened(fds[1], "config 2 pid -1 cpu 0 joins");
    opener_rig_assert_opened(fds[2], "config 3 pid -1 cpu 0 joins");
    assert_int_equal(rig.n_sealed, 2);
    rig.takes_no_filter = true;
    opener_rig_open_group(&group, fds);
    assert_int_equal(fds[0], -EBADRQC);
    assert_int_equal(fds[1], -EBADRQC);
    assert_true(fds[2] >= 0);
    close(fds[2]);
}

TEST_WITH_OPENER(test_cgroups)
{
    struct perf_event_attr attr = opener_rig_event(1);
    static const char *const refused[] = {"/tmp", "/", "/proc/self/stat", "/sys/kernel"};

    for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
        _cleanup_(closep) int fd = open(refused[i], O_RDONLY | O_CLOEXEC);
        assert_true(fd >= 0);
        assert_int_equal(sys_perf_event_open(&rig.daemon, &attr, fd, 0, -1, PERF_FLAG_PID_CGROUP), -EXDEV);
    }
}

/* Each malformed packet gets a reply, with or without descriptors attached, and no descriptor leaks. */
TEST_WITH_OPENER(test_garbage)
{
    static const char garbage[OPENER_PACKET_MAX + 100] = "garbage";
    static const size_t sizes[] = {1, 7, 8, 48, 4096, OPENER_PACKET_MAX, sizeof(garbage)};
    struct perf_event_attr attr = opener_rig_event(1);

    for (size_t i = 0; i < ARRAY_SIZE(sizes); i++)
        for (size_t n = 0; n <= 20; n += 5) {
            struct fd_list fds = {.n = n}, given;
            struct opener_reply reply;
            assert_int_equal(fd_socket_send(rig.client.socket, garbage, sizes[i], &fds), 0);
            assert_true(fd_socket_receive(rig.client.socket, &reply, sizeof(reply), &given, NULL) > 0);
            assert_int_equal(reply.error, -EBADMSG);
            assert_int_equal(given.n, 0);
        }
    opener_rig_assert_opened(sys_perf_event_open(&rig.daemon, &attr, -1, 0, -1, 0),
                             "config 1 pid -1 cpu 0 leads disabled");
}

/* If too many descriptors of this user are in flight (unix(7)), the reply reports it and the opener continues. */
TEST_WITH_OPENER(test_cannot_be_sent)
{
    struct fd_list many = {.n = FD_LIST_MAX};
    struct rlimit before, less;
    int sockets[2];

    rig.powerless = true;
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets), 0);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    less = before;
    less.rlim_cur = 60;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &less), 0);
    assert_int_equal(fd_socket_send(sockets[0], "", 1, &many), 0);
    assert_int_equal(opener_rig_open(1), -ETOOMANYREFS);
    assert_int_equal(opener_rig_open(FIRST_ERROR + ENOENT), -ENOENT);
    /* Descriptors are no longer counted once they have been received or dropped. */
    close(sockets[1]);
    close(sockets[0]);
    int fd;
    eventually((fd = opener_rig_open(1)) != -ETOOMANYREFS, "descriptors in flight to be closed");
    opener_rig_assert_opened(fd, "config 1 pid -1 cpu 0 leads disabled");
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
}

/* Limits on open events. An event counts towards its limits until the last copy of its descriptor is closed. */

#define CPU 5
#define THREAD 77

static const struct event_limit_case {
    const char *name;
    pid_t pid;
    int cpu;
    bool bpf;
    unsigned out;
    int others; /* another CPU, which has its own limit and is tried as well; -2: none */
} event_limit_cases[] = {
    {"a CPU", -1, CPU, false, RIG_CPU_LIMIT, 1},
    {"another CPU, with its own quota", -1, CPU - 1, false, RIG_CPU_LIMIT, CPU},
    {"a CPU after the bpf engine has counted cgroups", -1, CPU, true, RIG_BPF_LIMIT, 1},
    {"a thread on a CPU", THREAD, CPU, false, RIG_THREAD_LIMIT, -1},
    {"a thread on any CPU", THREAD, -1, false, RIG_THREAD_LIMIT, CPU},
    {"a CPU that does not exist", -1, CPU + 1, false, 0, -2},
};

/* Asks for a sampling event of a thread, since the opener refuses to count other threads. */
static int ask_for(pid_t pid, int cpu)
{
    struct perf_event_attr attr = opener_rig_event(1);

    attr.sample_period = pid > 0;
    return sys_perf_event_open(&rig.daemon, &attr, pid, cpu, -1, 0);
}

/* Opens events until the opener refuses one. Returns their number and stores the last error in *ret. */
static unsigned open_all(pid_t pid, int cpu, int fds[2 * RIG_CPU_LIMIT], int *ret)
{
    unsigned n = 0;

    while (n < 2 * RIG_CPU_LIMIT && (fds[n] = ask_for(pid, cpu)) >= 0)
        n++;
    *ret = n < 2 * RIG_CPU_LIMIT ? fds[n] : 0;
    return n;
}

static void close_all(const int *fds, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        close(fds[i]);
}

/* The opener was started with permission to sample. */
static int limits_setup(void **state)
{
    int r = opener_rig_setup(state);

    event_quota_close(&rig.events);
    rig.server.rules.permissions.sampling = true;
    assert_int_equal(event_quota_open(&rig.events, &rig.server.rules), 0);
    return r;
}

static void check_limit(const struct event_limit_case *row)
{
    int fds[2 * RIG_CPU_LIMIT], others[2 * RIG_CPU_LIMIT], error;

    print_message("%s\n", row->name);
    rig.events.bpf = row->bpf;
    for (int again = 0; again < 2; again++) {
        assert_int_equal(open_all(row->pid, row->cpu, fds, &error), row->out);
        assert_int_equal(error, row->out ? -EDQUOT : -ENXIO);
        if (row->others > -2) {
            assert_int_equal(open_all(row->pid, row->others, others, &error), row->out);
            close_all(others, row->out);
        }
        assert_int_equal(ask_for(row->pid, row->cpu), error);
        close_all(fds, row->out);
    }
}

TEST_WITH(test_event_limits, limits_setup, opener_rig_teardown)
{
    for (size_t i = 0; i < ARRAY_SIZE(event_limit_cases); i++)
        check_limit(&event_limit_cases[i]);
}

/* There is also a limit per CPU for all threads together. */
TEST_WITH(test_limit_of_threads, limits_setup, opener_rig_teardown)
{
    int fds[RIG_THREADS_LIMIT];

    for (int i = 0; i < RIG_THREADS_LIMIT; i++) {
        fds[i] = ask_for(THREAD + i, CPU);
        assert_true(fds[i] >= 0);
    }
    assert_int_equal(ask_for(THREAD + RIG_THREADS_LIMIT, CPU), -EDQUOT);
    int other = ask_for(THREAD + RIG_THREADS_LIMIT, CPU - EVENT_QUOTAS);
    assert_true(other >= 0);
    close(other);
    close_all(fds, RIG_THREADS_LIMIT);
}

/* An event counts as open as long as a descriptor of it exists, even in a packet that was never received. */
TEST_WITH_OPENER(test_limit_of_parked)
{
    int fds[2 * RIG_CPU_LIMIT], error, sockets[2], copy = -1;
    unsigned n = open_all(-1, CPU, fds, &error);
    struct fd_list parked = {0}, received;
    char byte;

    assert_int_equal(n, RIG_CPU_LIMIT);
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets), 0);
    while (parked.n < RIG_CPU_LIMIT) {
        parked.fds[parked.n] = fds[parked.n];
        parked.n++;
    }
    assert_int_equal(fd_socket_send(sockets[0], "", 1, &parked), 0);
    copy = dup(fds[0]);
    close_all(fds, n);
    assert_int_equal(ask_for(-1, CPU), -EDQUOT);
    assert_int_equal(fd_socket_receive(sockets[1], &byte, 1, &received, NULL), 1);
    assert_int_equal(ask_for(-1, CPU), -EDQUOT);
    fd_list_close(&received);
    assert_int_equal(open_all(-1, CPU, fds, &error), RIG_CPU_LIMIT - 1);
    assert_int_equal(error, -EDQUOT);
    close(copy);
    close_all(fds, RIG_CPU_LIMIT - 1);
    close(sockets[0]);
    close(sockets[1]);
}

/*
 * A group that would exceed the limit is not opened at all. Events that cannot be opened do not count towards the
 * limit.
 */
TEST_WITH_OPENER(test_limit_of_groups)
{
    struct perf_event_attr attrs[RIG_CPU_LIMIT];
    struct sys_group group = {.attrs = attrs, .n = RIG_CPU_LIMIT, .pid = -1, .cpu = CPU, .leader = -1};
    int fds[RIG_CPU_LIMIT], one;

    for (size_t i = 0; i < RIG_CPU_LIMIT; i++)
        attrs[i] = opener_rig_event(FIRST_ERROR + ENOENT);
    for (size_t i = 0; i < 10; i++) {
        opener_rig_open_group(&group, fds);
        assert_int_equal(fds[0], -ENOENT);
    }
    for (size_t i = 0; i < RIG_CPU_LIMIT; i++)
        attrs[i] = opener_rig_event(1);
    one = ask_for(-1, CPU);
    opener_rig_open_group(&group, fds);
    for (size_t i = 0; i < RIG_CPU_LIMIT; i++)
        assert_int_equal(fds[i], -EDQUOT);
    close(one);
    opener_rig_open_group(&group, fds);
    for (size_t i = 0; i < RIG_CPU_LIMIT; i++)
        assert_true(fds[i] >= 0);
    close_all(fds, RIG_CPU_LIMIT);
}

/* Simulates a kernel that registers no more files: a seccomp filter makes epoll_ctl() fail with the kernel's error. */
static _Noreturn void add_refused(struct quota *quota, int fd)
{
    scmp_filter_ctx context = seccomp_init(SCMP_ACT_ALLOW);
    int r = context ? seccomp_rule_add(context, SCMP_ACT_ERRNO(ENOSPC), SCMP_SYS(epoll_ctl), 0) : -ENOMEM;

    if (r == 0)
        r = seccomp_load(context);
    _exit(r < 0 ? 1 : quota_add(quota, 1, fd) == -EUSERS ? 0 : 2);
}

TEST(test_too_many_watches)
{
    struct quota quota;
    int status, fds[2];

    assert_int_equal(quota_open(&quota, 2), 0);
    assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        add_refused(&quota, fds[0]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 1)
        skip_because("seccomp filters");
    assert_int_equal(status, 0);
    /* A descriptor that cannot be registered is not passed on. */
    _cleanup_(closep) int file = memfd_create("file", MFD_CLOEXEC);
    assert_int_equal(quota_add(&quota, 1, file), -EPERM);
    assert_int_equal(quota.bounds[1], 0);
    close(fds[0]);
    close(fds[1]);
    quota_close(&quota);
}

/* The list of registered files is too long for a single read, and files are counted separately for each account. */
TEST(test_many_files)
{
    enum { FILES = 300 };
    struct quota quota;
    int fds[FILES];

    assert_int_equal(quota_open(&quota, 3), 0);
    for (int i = 0; i < FILES; i++) {
        fds[i] = eventfd(0, EFD_CLOEXEC);
        assert_int_equal(quota_add(&quota, (size_t)(i % 3), fds[i]), 0);
    }
    for (size_t account = 0; account < 3; account++) {
        assert_int_equal(quota_check(&quota, account, 1, 1, FILES / 3), -EDQUOT);
        assert_int_equal(quota_check(&quota, account, 1, 1, FILES / 3 + 1), 0);
    }
    for (int i = 0; i < FILES; i += 3)
        close(fds[i]);
    assert_int_equal(quota_check(&quota, 0, 1, FILES / 3, FILES / 3), 0);
    assert_int_equal(quota_check(&quota, 0, 3, 1, 2 * FILES / 3), -EDQUOT);
    assert_int_equal(quota_check(&quota, 1, 1, 1, FILES / 3), -EDQUOT);
    for (int i = 0; i < FILES; i++)
        if (i % 3)
            close(fds[i]);
    assert_int_equal(quota_check(&quota, 0, 3, 5, 5), 0);
    quota_close(&quota);
}

#define PATH ".local/share/containers/storage/overlay-containers"
#define FILE_PATH PATH "/containers.json"
#define STRANGER 12345

static char home[STATE_HOME_MAX];
static uid_t user;
static uint32_t place;
static int ends[2]; /* the opener sends files through the first end, the test receives them from the second */

static void own(const char *path)
{
    assert_int_equal(lchown(path, user, user), 0);
}

static void make_file(const char *path, const char *text)
{
    _cleanup_(closep) int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    own(path);
}

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *walk)
{
    return remove(path);
}

static int setup(void **state)
{
    static const char *const directories[] = {".local", ".local/share", ".local/share/containers",
                                              ".local/share/containers/storage", PATH};

    strcpy(home, "/tmp/perfcountd-home-XXXXXX");
    user = geteuid() ? geteuid() : STRANGER;
    assert_non_null(mkdtemp(home));
    assert_int_equal(chdir(home), 0);
    own(".");
    for (size_t i = 0; i < ARRAY_SIZE(directories); i++) {
        assert_int_equal(mkdir(directories[i], 0700), 0);
        own(directories[i]);
    }
    make_file(FILE_PATH, "[]");
    while (!str_equal(state_place(place)->path, "~/" FILE_PATH))
        place++;
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    opener_rig_setup(state);
    rig.server.reader = ends[0];
    return 0;
}

static int teardown(void **state)
{
    opener_rig_teardown(state);
    close(ends[0]);
    close(ends[1]);
    return chdir("/") < 0 ? -1 : nftw(home, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static struct state_request make_request(void)
{
    struct state_request request;

    memset(&request, 0, sizeof(request));
    request.place = place;
    request.user = user;
    request.ticket = 42;
    strcpy(request.home, home);
    return request;
}

static int ask(void)
{
    struct state_request request = make_request();

    return rig.state_files.read(rig.state_files.owner, &request);
}

static void assert_nothing_arrived(void)
{
    char byte;

    assert_int_equal(recv(ends[1], &byte, 1, MSG_DONTWAIT), -1);
}

TEST_WITH(test_file_arrives, setup, teardown)
{
    struct state_request request = make_request(), arrived;
    struct stat status;
    char text[8] = "";
    int fd = -1;

    assert_int_equal(ask(), 0);
    assert_int_equal(fd_socket_receive_one(ends[1], &arrived, sizeof(arrived), &fd), 0);
    assert_memory_equal(&arrived, &request, sizeof(request));
    assert_int_equal(read(fd, text, sizeof(text)), 2);
    assert_string_equal(text, "[]");
    assert_int_equal(fcntl(fd, F_GETFL) & O_ACCMODE, O_RDONLY);
    assert_int_equal(fstat(fd, &status), 0);
    close(fd);
    /* An unchanged file is not sent again; a rewritten one is. */
    request.version = state_file_version(&status);
    assert_int_equal(rig.state_files.read(rig.state_files.owner, &request), -EALREADY);
    make_file(FILE_PATH, "[{}]");
    assert_int_equal(rig.state_files.read(rig.state_files.owner, &request), 0);
    assert_int_equal(fd_socket_receive_one(ends[1], &arrived, sizeof(arrived), &fd), 0);
    close(fd);
    assert_nothing_arrived();
}

/* The state file is replaced by another kind of file, which is refused. test-opener-safe-open.c has more cases. */
TEST_WITH(test_refused, setup, teardown)
{
    assert_int_equal(unlink(FILE_PATH), 0);
    assert_int_equal(ask(), -ENOENT);
    assert_int_equal(symlink("/etc/shadow", FILE_PATH), 0);
    own(FILE_PATH);
    assert_int_equal(ask(), -EBADRQC);
    assert_int_equal(unlink(FILE_PATH), 0);
    make_file(FILE_PATH, "[]");
    assert_int_equal(chmod(PATH, 0777), 0);
    assert_int_equal(ask(), -EBADRQC);
    assert_int_equal(unlink(FILE_PATH), 0);
    assert_int_equal(rmdir(PATH), 0);
    make_file(PATH, "");
    assert_int_equal(ask(), -ENOENT);
    assert_nothing_arrived();
}

/*
 * A user can hold a lease on a file for 45 seconds (fs.lease-break-time), again and again. The opener does not wait for
 * it, and the daemon must not retry all the time.
 */
TEST_WITH(test_lease, setup, teardown)
{
    _cleanup_(closep) int fd = open(FILE_PATH, O_RDWR | O_CLOEXEC);

    signal(SIGIO, SIG_IGN);
    if (fcntl(fd, F_SETLEASE, F_WRLCK) < 0)
        skip_because("leases on the file system of /tmp");
    assert_int_equal(ask(), -EHOSTDOWN);
    assert_int_equal(fcntl(fd, F_SETLEASE, F_UNLCK), 0);
    assert_int_equal(ask(), 0);
}

/* Keeps replacing the user's file with a symbolic link to a file of root, and back. The user owns the link. */
static _Noreturn void take_turns(pid_t parent)
{
    while (getppid() == parent) {
        (void)!rename("link", FILE_PATH);
        (void)!symlink("/etc/passwd", "next-link");
        (void)!lchown("next-link", user, user);
        (void)!rename("file", FILE_PATH);
        (void)!rename("next-link", "link");
        int fd = open("next-file", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
        (void)!fchown(fd, user, user);
        close(fd);
        (void)!rename("next-file", "file");
    }
    _exit(0);
}

/* Makes a request, and asserts that the file, if one arrives, belongs to the user. */
static void ask_in_race(unsigned *n_arrived, unsigned *n_refused)
{
    struct state_request arrived;
    struct stat status;
    int fd = -1, r = ask();

    *n_refused += r == -EBADRQC;
    if (r < 0)
        return;
    ++*n_arrived;
    assert_int_equal(fd_socket_receive_one(ends[1], &arrived, sizeof(arrived), &fd), 0);
    assert_int_equal(fstat(fd, &status), 0);
    assert_int_equal(status.st_uid, user);
    close(fd);
}

TEST_WITH(test_race, setup, teardown)
{
    unsigned n_arrived = 0, n_refused = 0;
    pid_t parent = getpid(), pid = fork();

    if (pid == 0)
        take_turns(parent);
    eventually((ask_in_race(&n_arrived, &n_refused), n_arrived >= 50 && n_refused >= 50),
               "50 files to arrive and 50 to be refused");
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

/* test-state-files.c covers requests without a valid path. */
TEST_WITH(test_requests_are_refused, setup, teardown)
{
    struct state_request request = make_request();

    request.user = 0;
    assert_int_equal(rig.state_files.read(rig.state_files.owner, &request), -EBADRQC);
    request.user = user + 1;
    assert_int_equal(rig.state_files.read(rig.state_files.owner, &request), -EBADRQC);
    assert_nothing_arrived();
}

TEST_WITH(test_reader_is_full_or_gone, setup, teardown)
{
    int r;

    while ((r = ask()) == 0)
        ;
    assert_int_equal(r, -EAGAIN);
    close(ends[1]);
    assert_int_equal(ask(), -ENOSYS);
    ends[1] = dup(ends[0]);
    rig.server.reader = -1;
    assert_int_equal(ask(), -ENOSYS);
    /* The opener can still open events. */
    opener_rig_assert_opened(opener_rig_open(1), "config 1 pid -1 cpu 0 leads disabled");
}

TEST_WITH(test_without_opener, setup, teardown)
{
    struct state_request request = make_request(), arrived;
    struct sys sys;
    struct own_state_files own = {.sys = &sys, .reader = &ends[0], .stragglers.waited_max_ns = PATIENT_NS};
    struct state_files files;
    int fd = -1;

    sys_init(&sys);
    own_state_files_bind(&own, &files);
    assert_int_equal(files.read(files.owner, &request), 0);
    assert_int_equal(fd_socket_receive_one(ends[1], &arrived, sizeof(arrived), &fd), 0);
    close(fd);
}

enum { CPUS = 4, SLOTS = 256 };

static struct {
    char made[256]; /* the calls made by the opener, as text */
    int error;      /* result of the next calls: 0 or -errno */
    int n_maps;     /* the number of maps that start() returns */
} kernel;

static int note(int r, const char *format, ...) PRINTF_LIKE(2, 3);

static int note(int r, const char *format, ...)
{
    size_t length = strlen(kernel.made);
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(kernel.made + length, sizeof(kernel.made) - length, format, arguments);
    va_end(arguments);
    return r;
}

/* Stands in for a BPF map, since a pipe can be registered with epoll(7), too. */
static int pipe_with(const char *text)
{
    int fds[2];

    assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
    assert_int_equal(write(fds[1], text, strlen(text)), (ssize_t)strlen(text));
    close(fds[1]);
    return fds[0];
}

static int fake_start(void *owner, const struct bpf_shape *shape, struct bpf_maps *ret, struct error *error)
{
    note(0, "start %u %u %u %u;", shape->cpus, shape->slots, shape->events, shape->groups);
    if (kernel.error)
        return error_set(error, kernel.error, "libbpf is not installed; install libbpf1");
    *ret = (struct bpf_maps){pipe_with(""), pipe_with("records")};
    return 0;
}

static int fake_set_cpu(void *owner, unsigned cpu, const struct bpf_event *events, const int *fds)
{
    note(0, "set_cpu %u", cpu);
    for (size_t i = 0; i < BPF_EVENTS_MAX; i++) {
        char text[16] = "";
        assert_int_equal(events[i].source == SOURCE_READ, fds[i] >= 0);
        if (events[i].source)
            note(0, " %u:%u%s%s", events[i].source, events[i].group, events[i].gives_times ? "t" : "",
                 fds[i] >= 0 && pread(fds[i], text, 15, 0) > 0 ? text : "");
    }
    return note(kernel.error, ";");
}

static int fake_attach(void *owner, bool attached)
{
    return note(kernel.error, "attach %d;", attached);
}

static int fake_assign(void *owner, int cgroup_fd, uint32_t slot, uint64_t *ret_id)
{
    assert_true(fcntl(cgroup_fd, F_GETFD) >= 0);
    *ret_id = UINT64_C(1) << 40;
    return note(kernel.error, "assign %u;", slot);
}

static int fake_withdraw(void *owner, uint64_t id)
{
    return note(kernel.error, "withdraw %llx;", (unsigned long long)id);
}

static int fake_flush(void *owner)
{
    return note(kernel.error, "flush;");
}

static void fake_stop(void *owner)
{
    note(0, "stop;");
}

static const struct bpf_calls fake_calls = {
    .start = fake_start,
    .set_cpu = fake_set_cpu,
    .attach = fake_attach,
    .assign = fake_assign,
    .withdraw = fake_withdraw,
    .flush = fake_flush,
    .stop = fake_stop,
};

static const struct bpf_shape shape = {.cpus = CPUS, .slots = SLOTS, .events = 3, .groups = 1};

static int bpf_setup(void **state)
{
    int r = opener_rig_setup(state);

    memset(&kernel, 0, sizeof(kernel));
    rig.server.bpf = &fake_calls;
    rig.server.rules.n_cpus = CPUS;
    rig.server.rules.permissions.bpf_slots = SLOTS;
    return r;
}

static void assert_made(const char *expected)
{
    assert_string_equal(kernel.made, expected);
    kernel.made[0] = '\0';
}

static int file_with(const char *text)
{
    int fd = memfd_create("counter", MFD_CLOEXEC);

    assert_true(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
    return fd;
}

static void start(void)
{
    struct bpf_maps maps = {-1, -1};
    char text[16] = "";

    assert_int_equal(rig.bpf.start(&rig.client, &shape, &maps, NULL), 0);
    assert_made("start 4 256 3 1;");
    assert_int_equal(read(maps.counts, text, sizeof(text)), 0);
    assert_int_equal(read(maps.records, text, sizeof(text)), 7);
    close(maps.counts);
    close(maps.records);
}

TEST_WITH(test_calls, bpf_setup, opener_rig_teardown)
{
    const struct bpf_event events[3] = {
        {.source = SOURCE_SWITCHES}, {.source = SOURCE_READ, .gives_times = 1}, {.source = SOURCE_READ, .group = 3}};
    _cleanup_(closep) int first = file_with("=first"), second = file_with("=second");

    start();
    assert_int_equal(rig.bpf.set_cpu(&rig.client, 2, events, (const int[]){-1, first, second}), 0);
    assert_made("set_cpu 2 3:0 1:0t=first 1:3=second;");
    assert_int_equal(rig.bpf.attach(&rig.client, true), 0);
    assert_int_equal(rig.bpf.attach(&rig.client, false), 0);
    assert_int_equal(rig.bpf.withdraw(&rig.client, UINT64_C(0x123456789a)), 0);
    assert_int_equal(rig.bpf.flush(&rig.client), 0);
    rig.bpf.stop(&rig.client);
    assert_made("attach 1;attach 0;withdraw 123456789a;flush;stop;");
    kernel.error = -ENOENT;
    assert_int_equal(rig.bpf.withdraw(&rig.client, 1), -ENOENT);
    assert_int_equal(rig.bpf.attach(&rig.client, true), -ENOENT);
    assert_int_equal(rig.bpf.flush(&rig.client), -ENOENT);
    assert_int_equal(rig.bpf.set_cpu(&rig.client, CPUS, events, (const int[]){-1, first, second}), -EBADRQC);
}

/* Opens the root of the cgroup v2 hierarchy. Returns -1 if perf does not count v2 cgroups. */
static int open_cgroup(void)
{
    struct hierarchy hierarchy;
    struct statfs status;
    struct sys sys;

    sys_init(&sys);
    if (hierarchy_find(&sys, &hierarchy, NULL) < 0)
        return -1;
    _cleanup_(closep) int fd = open(hierarchy.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    hierarchy_done(&hierarchy);
    if (fd >= 0 && fstatfs(fd, &status) == 0 && status.f_type == CGROUP2_SUPER_MAGIC)
        return steal_fd(&fd);
    return -1;
}

/* The opener returns the id of a cgroup, and refuses directories that are not v2 cgroups. */
TEST_WITH(test_assign, bpf_setup, opener_rig_teardown)
{
    static const char *const refused[] = {"/tmp", "/", "/proc/self/stat", "/sys/fs"};
    uint64_t id = 0;

    for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
        _cleanup_(closep) int fd = open(refused[i], O_RDONLY | O_CLOEXEC);
        assert_true(fd >= 0);
        assert_int_equal(rig.bpf.assign(&rig.client, fd, 5, &id), -EXDEV);
        assert_true(id == 0);
    }
    assert_made("");
    _cleanup_(closep) int cgroup = open_cgroup();
    if (cgroup < 0)
        skip_because("a cgroup v2 hierarchy that perf_event uses");
    assert_false(rig.events.bpf);
    assert_int_equal(rig.bpf.assign(&rig.client, cgroup, 5, &id), 0);
    assert_true(rig.events.bpf);
    assert_made("assign 5;");
    assert_true(id == UINT64_C(1) << 40);
    kernel.error = -ENOSPC;
    assert_int_equal(rig.bpf.assign(&rig.client, cgroup, 5, &id), -ENOSPC);
    rig.server.cgroups = "/sys/fs/cgroup/elsewhere";
    assert_int_equal(rig.bpf.assign(&rig.client, cgroup, 5, &id), -EXDEV);
}

static void assert_start_fails(int code, const char *sentence)
{
    struct bpf_maps maps = {-7, -7};
    struct error error = {0};

    assert_int_equal(rig.bpf.start(&rig.client, &shape, &maps, &error), code);
    assert_string_equal(error.message, sentence);
    assert_int_equal(maps.counts, -7);
}

/* A BPF program stays loaded as long as a descriptor of one of its maps is open. */
TEST_WITH(test_programs_are_few, bpf_setup, opener_rig_teardown)
{
    struct bpf_maps maps[OPENER_PROGRAMS_MAX];

    for (int i = 0; i < 10; i++)
        start();
    for (size_t i = 0; i < OPENER_PROGRAMS_MAX; i++)
        assert_int_equal(rig.bpf.start(&rig.client, &shape, &maps[i], NULL), 0);
    kernel.made[0] = '\0';
    assert_start_fails(-EBUSY, "4 BPF programs that count cgroups are loaded, which is the limit");
    close(maps[0].counts);
    assert_start_fails(-EBUSY, "4 BPF programs that count cgroups are loaded, which is the limit");
    assert_made("");
    close(maps[0].records);
    start();
    for (size_t i = 1; i < OPENER_PROGRAMS_MAX; i++) {
        close(maps[i].counts);
        close(maps[i].records);
    }
}

/* The client gets an error message if the program cannot be started, and if the opener refuses to start it. */
TEST_WITH(test_start_fails, bpf_setup, opener_rig_teardown)
{
    kernel.error = -ENOSYS;
    assert_start_fails(-ENOSYS, "libbpf is not installed; install libbpf1");
    assert_made("start 4 256 3 1;");
    kernel.error = 0;
    rig.server.bpf = NULL;
    assert_start_fails(-ENOSYS, "this perfcountd was built without BPF");
    rig.server.bpf = &fake_calls;
    rig.server.rules.permissions.bpf_slots = SLOTS - 1;
    assert_start_fails(-EUNATCH,
                       "perfcountd was started without this engine, or for fewer cgroups; restart perfcountd");
    rig.server.rules.permissions.bpf_slots = SLOTS;
    rig.server.rules.n_cpus = CPUS - 1;
    assert_start_fails(-EBADRQC, "the opener refuses to count cgroups by BPF (EBADRQC)");
    rig.server.rules.n_cpus = CPUS;
    start();
    shutdown(rig.client.socket, SHUT_RDWR);
    assert_start_fails(-EPIPE, "the opener is gone; restart perfcountd");
}

/* --- socket files --- */

static int bind_at(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);

    snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
    assert_int_equal(bind(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
    return fd;
}

/* Only sockets that were bound when they were marked are removed, unless they have been replaced. */
TEST(test_bound_sockets)
{
    char directory[] = "/tmp/test-opener.XXXXXX", paths[5][64];
    static const char *const names[] = {"bound", "replaced", "moved", "file", "absent"};
    char *list[] = {paths[0], paths[1], paths[2], paths[3], paths[4]};
    struct bound_sockets sockets;
    char other[64];
    int status;

    assert_non_null(mkdtemp(directory));
    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        snprintf(paths[i], sizeof(paths[i]), "%s/%s", directory, names[i]);
    snprintf(other, sizeof(other), "%s/other", directory);
    assert_int_equal(bound_sockets_init(list, ARRAY_SIZE(list), &sockets), 0);
    for (size_t i = 0; i < 3; i++)
        close(bind_at(paths[i]));
    close(open(paths[3], O_CREAT | O_WRONLY, 0600));

    int go[2];
    assert_int_equal(pipe(go), 0);
    pid_t opener = fork();
    if (opener == 0) {
        char byte;
        close(go[1]);
        bound_sockets_open(&sockets);
        (void)!read(go[0], &byte, 1);
        bound_sockets_remove(&sockets);
        _exit(0);
    }
    bound_sockets_mark(&sockets);
    bound_sockets_done(&sockets);
    /* The old file exists until the end, so that its inode number is not reused. */
    assert_int_equal(rename(paths[1], other), 0);
    close(bind_at(paths[1]));
    assert_int_equal(chmod(paths[0], 0600), 0);
    close(bind_at(paths[4]));
    assert_int_equal(rename(paths[3], paths[2]), 0);
    close(go[0]);
    close(go[1]);
    assert_int_equal(waitpid(opener, &status, 0), opener);
    assert_int_equal(status, 0);

    assert_int_equal(access(paths[0], F_OK), -1);
    for (size_t i = 1; i < 5; i++)
        assert_int_equal(access(paths[i], F_OK), i == 3 ? -1 : 0);
    unlink(other);
    for (size_t i = 1; i < 5; i++)
        unlink(paths[i]);
    assert_int_equal(rmdir(directory), 0);
}

TEST_MAIN(NULL, NULL)
