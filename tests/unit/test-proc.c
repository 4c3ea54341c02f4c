/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scans a /proc that the test creates. The finder is another process of this program. The finder opens proc/PID/maps,
 * relative to its working directory. From the second request for a process on, it opens proc/PID/again instead, if this
 * exists. If proc/PID/hangs exists, the finder never answers. At each request the finder appends a byte to
 * proc/PID/asked.
 */
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "process/fdpass.h"
#include "symbols/proc.h"
#include "tests/unit/process-rig.h"
#include "tests/unit/test.h"

/* --- the finder --- */

static int open_of(uint32_t pid, const char *name, int flags)
{
    char path[64];

    snprintf(path, sizeof(path), "proc/%u/%s", pid, name);
    return open(path, flags | O_CLOEXEC, 0600);
}

static int find(const struct find_request *request)
{
    _cleanup_(closep) int hangs = open_of(request->pid, "hangs", O_RDONLY);
    _cleanup_(closep) int asked = open_of(request->pid, "asked", O_WRONLY | O_CREAT | O_APPEND);
    off_t n = lseek(asked, 0, SEEK_END);

    if (request->find != FIND_MAPS || write(asked, "x", 1) != 1)
        return -EBADRQC;
    while (hangs >= 0)
        pause();
    int again = n > 0 ? open_of(request->pid, "again", O_RDONLY) : -1, fd = again;
    if (again < 0)
        fd = open_of(request->pid, "maps", O_RDONLY);
    return fd < 0 ? -errno : fd;
}

static int be_finder(void)
{
    union find_buffer buffer;
    int given;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    while (find_request_receive(SYMBOLISER_INPUT, &buffer, &given) == 0) {
        _cleanup_(closep) int fd = find(&buffer.request);
        buffer.request.error = MIN(fd, 0);
        if (fd_socket_send_one(SYMBOLISER_SOCKET, &buffer, find_request_size(&buffer.request), MAX(fd, -1)) < 0)
            return EXIT_FAILURE;
    }
    return EXIT_SUCCESS;
}

/* --- the scan --- */

struct fixture {
    struct process_rig *rig;
    char root[32];
    struct proc_scan *scan;
};

static void put(const char *root, const char *path, const char *text)
{
    char full[256];

    snprintf(full, sizeof(full), "%s%s", root, path);
    for (char *slash = full + strlen(root) + 1; (slash = strchr(slash, '/')); *slash++ = '/') {
        *slash = '\0';
        mkdir(full, 0700);
    }
    _cleanup_(fclosep) FILE *file = fopen(full, "we");
    assert_true(file && fputs(text, file) >= 0);
}

static void count_visits(void *userdata, uint32_t pid, uint32_t tid, const char *name, const struct mapping *mapping)
{
    unsigned *n = userdata;

    assert_true(pid && tid && name[0]);
    n[mapping ? 1 : 0]++;
}

/* Creates processes 7 and 9, a process that has exited, and files that are not processes. */
static void make_proc(const char *root)
{
    _cleanup_(buffer_done) struct buffer maps = {0};

    put(root, "/proc/7/task/7/comm", "seven\n");
    put(root, "/proc/7/task/8/comm", "eight\n");
    put(root, "/proc/7/task/x/comm", "no\n");
    put(root, "/proc/7/maps",
        "1000-2000 r-xp 00000000 08:01 5 /seven\n"
        "2000-3000 rw-p 00000000 08:01 5 /data\n"
        "nonsense\n"
        "4000-5000 r-xp 00000000 00:00 0 [vdso]\n"
        "5000-6000 r-xp 00000000 00:00 0 cut off");
    for (unsigned i = 0; i < 900; i++) /* more than is read in one step */
        buffer_appendf(&maps, "%x000-%x000 r-xp 00000000 08:01 %u /a/rather/long/name\n", i + 1, i + 2, i + 10);
    _cleanup_(freep) char *text = buffer_string(&maps);
    put(root, "/proc/9/task/9/comm", "nine\n");
    put(root, "/proc/9/maps", text);
    put(root, "/proc/11/task/11/comm", "process 11, whose mappings are hidden\n");
    put(root, "/proc/10/comm", "no task: it has ended\n");
    put(root, "/proc/self/task/1/comm", "not a number\n");
    put(root, "/proc/uptime", "1\n");
}

static int setup(void **state)
{
    struct fixture *fixture = calloc(1, sizeof(*fixture));
    void *rig = NULL;

    *state = fixture;
    strcpy(fixture->root, "/tmp/test-processes-XXXXXX");
    if (process_rig_setup(&rig) < 0 || !mkdtemp(fixture->root))
        return -1;
    fixture->rig = rig;
    fixture->rig->sys.root = fixture->root;
    return chdir(fixture->root);
}

static int teardown(void **state)
{
    struct fixture *fixture = *state;
    void *rig = fixture->rig;
    char command[64];

    snprintf(command, sizeof(command), "rm -rf %s", fixture->root);
    int r = chdir("/") < 0 || system(command) != 0 ? -1 : process_rig_teardown(&rig);
    free(fixture);
    return r;
}

static void count_answer(void *userdata)
{
    ++*(unsigned *)userdata;
}

static int begin(struct fixture *fixture, uint32_t pid)
{
    static unsigned answers;
    const struct proc_scan_place place = {.sys = &fixture->rig->sys,
                                          .processes = fixture->rig->processes,
                                          .symboliser = dsos_symboliser(fixture->rig->dsos),
                                          .answered = count_answer,
                                          .userdata = &answers};

    return proc_scan_new(&place, pid, &fixture->scan);
}

static enum proc_scan_state step_until_it_waits(struct fixture *fixture)
{
    enum proc_scan_state state;
    unsigned steps = 0;

    while ((state = proc_scan_step(fixture->scan)) == SCAN_GOES_ON)
        assert_true(++steps < 100);
    return state;
}

static void finish(struct fixture *fixture)
{
    while (step_until_it_waits(fixture) == SCAN_WAITS)
        assert_true(sd_event_run(fixture->rig->event, UINT64_MAX) >= 0);
    fixture->scan = proc_scan_free(fixture->scan);
}

static void scan(struct fixture *fixture, uint32_t pid)
{
    assert_int_equal(begin(fixture, pid), 0);
    finish(fixture);
}

TEST_WITH(test_scan, setup, teardown)
{
    struct fixture *fixture = *state;
    struct process_rig *rig = fixture->rig;
    unsigned visits[2] = {0};

    make_proc(fixture->root);
    scan(fixture, 0);
    assert_int_equal(processes_n(rig->processes), 3);
    assert_string_equal(process_rig_comm(rig, 7, 8), "eight");
    assert_string_equal(process_rig_at(rig, 7, 0x1fff), "/seven+fff");
    assert_string_equal(process_rig_at(rig, 7, 0x2000), "");
    assert_string_equal(process_rig_at(rig, 7, 0x4000), "[vdso]+0");
    assert_string_equal(process_rig_at(rig, 7, 0x5000), "");
    assert_string_equal(process_rig_at(rig, 9, 1 << 12), "/a/rather/long/name+0");
    assert_string_equal(process_rig_at(rig, 9, 900 << 12), "/a/rather/long/name+0");
    processes_each(rig->processes, count_visits, visits);
    assert_int_equal(visits[0], 4);
    assert_int_equal(visits[1], 902);
    scan(fixture, 12345); /* this process has exited */
    rig->sys.root = "/nowhere";
    assert_int_equal(begin(fixture, 0), -ENOENT);
}

/*
 * A message from the symboliser holds 16 KiB of lines. A line that is longer than 16 KiB is skipped as a whole, so that
 * no part of it is taken for a line, and reading continues after it.
 */
TEST_WITH(test_a_long_line, setup, teardown)
{
    enum { MESSAGE = 16 * 1024 };
    static const char first[] = "1000-2000 r-xp 00000000 08:01 5 /first\n",
                      forged[] = "7000-8000 r-xp 00000000 08:01 5 /forged";
    struct fixture *fixture = *state;
    _cleanup_(buffer_done) struct buffer maps = {0};

    buffer_append_text(&maps, first);
    buffer_append_text(&maps, "2000-3000 r-xp 00000000 08:01 6 ");
    while (maps.size < 3 * MESSAGE)
        buffer_append_char(&maps, '/');
    buffer_append_text(&maps, "\n3000-4000 r-xp 00000000 08:01 7 /last\n");
    for (size_t at = MESSAGE + strlen(first); at < 3 * MESSAGE; at += MESSAGE)
        memcpy(maps.data + at, forged, strlen(forged));
    _cleanup_(freep) char *text = buffer_string(&maps);
    put(fixture->root, "/proc/7/task/7/comm", "seven\n");
    put(fixture->root, "/proc/7/maps", text);
    scan(fixture, 7);
    assert_string_equal(process_rig_at(fixture->rig, 7, 0x1000), "/first+0");
    assert_string_equal(process_rig_at(fixture->rig, 7, 0x3000), "/last+0");
    assert_string_equal(process_rig_at(fixture->rig, 7, 0x7000), "");
}

static size_t n_asked(uint32_t pid)
{
    struct stat status;
    _cleanup_(closep) int fd = open_of(pid, "asked", O_RDONLY);

    return fd >= 0 && fstat(fd, &status) == 0 ? (size_t)status.st_size : 0;
}

/* Returns the CPU time of all children that have been reaped, in microseconds. */
static uint64_t children_time(void)
{
    struct rusage usage;

    assert_int_equal(getrusage(RUSAGE_CHILDREN, &usage), 0);
    return (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000 +
           (uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

/*
 * While a process of one user hangs, processes of other users are still mapped, and no other process of that user is
 * queried.
 */
TEST_WITH(test_hangs, setup, teardown)
{
    struct fixture *fixture = *state;
    struct process_rig *rig = fixture->rig;
    static struct child child = CHILD_NONE; /* static, since the teardown uses it */
    uint64_t before = children_time();

    dsos_set_child(rig->dsos, &child);
    make_proc(fixture->root);
    put(fixture->root, "/proc/7/status", "Name:\tx\nUid:\t1007\t1007\t1007\t1007\n");
    put(fixture->root, "/proc/9/status", "Name:\tx\nUid:\t1009\t1009\t1009\t1009\n");
    put(fixture->root, "/proc/7/hangs", "");
    put(fixture->root, "/proc/12/task/12/comm", "of the same user\n");
    put(fixture->root, "/proc/12/status", "Name:\tx\nUid:\t1007\t1007\t1007\t1007\n");
    put(fixture->root, "/proc/12/maps", "1000-2000 r-xp 00000000 08:01 5 /twelve\n");
    scan(fixture, 9); /* starts the finder */
    assert_int_equal(n_asked(9), 1);
    assert_int_equal(begin(fixture, 7), 0);
    assert_int_equal(step_until_it_waits(fixture), SCAN_WAITS);
    struct proc_scan *first = fixture->scan;
    scan(fixture, 12); /* waits for the same finder */
    proc_scan_free(first);
    assert_int_equal(n_asked(12), 0);
    scan(fixture, 0);
    assert_true(symboliser_has_hung(dsos_symboliser(rig->dsos)));
    assert_int_equal(n_asked(7), 1);
    assert_string_equal(process_rig_comm(rig, 7, 8), "eight");
    assert_string_equal(process_rig_at(rig, 7, 0x1000), "");
    assert_int_equal(n_asked(12), 0);
    assert_int_equal(n_asked(9), 2);
    assert_string_equal(process_rig_at(rig, 9, 0x1000), "/a/rather/long/name+0");
    scan(fixture, 7);
    assert_int_equal(n_asked(7), 1);
    /* A scan can be freed while it waits. */
    assert_int_equal(begin(fixture, 9), 0);
    assert_int_equal(step_until_it_waits(fixture), SCAN_WAITS);
    fixture->scan = proc_scan_free(fixture->scan);
    scan(fixture, 9);
    assert_int_equal(n_asked(9), 4);
    /* The CPU time of exited finders is counted, within the kernel's rounding. */
    assert_in_range(child.ended_cpu_ns / 1000, children_time() - before - 10, children_time() - before + 10);
}

/* If a process executes another program while its mappings are read, they are read again. */
TEST_WITH(test_changes, setup, teardown)
{
    struct fixture *fixture = *state;
    struct process_rig *rig = fixture->rig;
    const struct record exec = {.type = PERF_RECORD_COMM,
                                .misc = PERF_RECORD_MISC_COMM_EXEC,
                                .comm = {.pid = 7, .tid = 7, .comm = "another"}},
                        mmap = {.type = PERF_RECORD_MMAP2,
                                .mmap = {.pid = 7,
                                         .tid = 7,
                                         .address = 0x1000,
                                         .length = 0x1000,
                                         .protection = PROT_EXEC,
                                         .file = "/another"}};

    make_proc(fixture->root);
    put(fixture->root, "/proc/7/again", "1000-2000 r-xp 00000000 08:01 6 /another\n");
    assert_int_equal(begin(fixture, 7), 0);
    assert_int_equal(step_until_it_waits(fixture), SCAN_WAITS);
    processes_update(rig->processes, &exec);
    processes_update(rig->processes, &mmap);
    finish(fixture);
    assert_int_equal(n_asked(7), 2);
    assert_string_equal(process_rig_at(rig, 7, 0x1000), "/another+0");
    assert_string_equal(process_rig_at(rig, 7, 0x4000), "");
}

int main(int argc, char **argv)
{
    const char *role = getenv(SYMBOLISER_ROLE);

    if (argc > 1 && str_equal(argv[1], SYMBOLISER_COMMAND))
        return role && str_equal(role, SYMBOLISER_FINDER) ? be_finder() : symboliser_serve();
    if (runs_emulated()) {
        leave_out("a test that starts itself as another process under qemu");
        return 77;
    }
    return run_all_tests("tests", NULL, NULL);
}
