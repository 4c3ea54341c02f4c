/* SPDX-License-Identifier: Apache-2.0 */
/* A real reader: what its processes may reach, the end of one over its file, and its own end. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "tests/unit/reader-rig.h"
#include "tests/unit/test.h"

/* The child that reads the file, once it has filled the socket. */
static pid_t find_process_of_file(pid_t reader)
{
    _cleanup_(freep) char *text = NULL;
    char path[64];

    snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)reader, (int)reader);
    if (file_read(AT_FDCWD, path, 4096, &text, NULL) < 0)
        skip_because("this kernel has no CONFIG_PROC_CHILDREN");
    return (pid_t)strtol(text, NULL, 10);
}

static bool status_has(const char *status, const char *line)
{
    return strstr(status, line) != NULL;
}

static char *read_status(pid_t pid)
{
    char path[64], *status;

    snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
    assert_int_equal(file_read(AT_FDCWD, path, 65536, &status, NULL), 0);
    return status;
}

/* How many filters of system calls a process has: counted since Linux 5.9, and -1 before. */
static long filters_in(const char *status)
{
    static const char key[] = "\nSeccomp_filters:\t";
    const char *line = strstr(status, key);

    return line ? strtol(line + strlen(key), NULL, 10) : -1;
}

/* With that many filters more than this process has. */
static void assert_jailed(pid_t pid, long filters)
{
    _cleanup_(freep) char *status = read_status(pid), *own = read_status(getpid());

    assert_true(status_has(status, "\nCapEff:\t0000000000000000\n"));
    assert_true(status_has(status, "\nCapPrm:\t0000000000000000\n"));
    assert_true(status_has(status, "\nNoNewPrivs:\t1\n"));
    assert_false(status_has(status, "\nUid:\t0\t"));
    if (geteuid() == 0)
        assert_true(status_has(status, "\nGroups:\t \n") && status_has(status, "\nCapBnd:\t0000000000000000\n"));
    if (runs_emulated())
        return;
    assert_true(status_has(status, "\nSeccomp:\t2\n"));
    if (filters_in(own) >= 0)
        assert_int_equal(filters_in(status), filters_in(own) + filters);
}

/* Above standard error. */
static size_t count_descriptors(pid_t pid)
{
    char path[64];
    size_t n = 0;

    for (int fd = STDERR_FILENO + 1; fd < 1024; fd++) {
        snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)pid, fd);
        n += faccessat(AT_FDCWD, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
    }
    return n;
}

/* A process that ends over its file costs the names in that file. It could not have taken another file. */
static void test_process_of_file_ends(void **state)
{
    struct reader_rig *rig = *state;
    _cleanup_(closep) int file = reader_rig_make_store(5000);
    _cleanup_(name_record_done) struct name_record record = {0};
    size_t n = 0;

    reader_rig_ask(rig, 12, reader_rig_place_of_store(), file);
    assert_true(reader_rig_hear(rig, &record));
    pid_t pid = find_process_of_file(rig->reader.child.pid);
    assert_true(pid > 0);
    if (geteuid() == 0) {
        assert_int_equal(count_descriptors(rig->reader.child.pid), 3); /* files, records, the file */
        assert_int_equal(count_descriptors(pid), 2);
    } else {
        leave_out("only root sees the descriptors of the reader");
    }
    assert_jailed(pid, 2);
    assert_int_equal(kill(pid, SIGKILL), 0);
    do {
        name_record_done(&record);
        assert_true(reader_rig_hear(rig, &record));
        n++;
    } while (!record.header.is_last);
    assert_true(n < 5000);
    assert_int_equal(record.header.ticket, 12);
    assert_int_equal(record.header.error, -EIO);
    assert_int_equal(record.header.version, reader_rig_version(file));
    reader_rig_reads(rig, 13);
}

static void test_privileges(void **state)
{
    struct reader_rig *rig = *state;
    struct process_stat stat;

    assert_jailed(rig->reader.child.pid, 1);
    if (runs_emulated()) {
        leave_out("qemu's /proc/self/stat has few of the numbers");
        return;
    }
    assert_int_equal(child_read(&rig->reader.child, &stat), 0);
    assert_int_equal(stat.threads, 1);
}

/* Of signals that reach all processes of a service, none ends it. */
static void test_signals(void **state)
{
    static const int signals[] = {SIGHUP, SIGINT, SIGTERM, SIGUSR1, SIGPIPE};
    struct reader_rig *rig = *state;

    for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
        assert_int_equal(kill(rig->reader.child.pid, signals[i]), 0);
    reader_rig_reads(rig, 14);
}

/* It lives as long as somebody may send files, and then it has ended. */
static void test_end(void **state)
{
    struct reader_rig *rig = *state;
    struct name_record record;
    pid_t pid = rig->reader.child.pid;
    int opener = dup(rig->reader.files);

    close(rig->reader.files);
    rig->reader.files = opener;
    reader_rig_reads(rig, 15);
    close(rig->reader.files);
    rig->reader.files = -1;
    assert_int_equal(reader_rig_hear(rig, &record), 0);
    name_reader_end(&rig->reader);
    assert_int_equal(rig->reader.child.pid, 0);
    assert_int_equal(rig->reader.child.stat_fd, -1);
    assert_int_equal(kill(pid, 0), -1);
    name_reader_end(&rig->reader);
}

static void test_no_runtime(void **state)
{
    struct reader_rig *rig = *state;
    struct name_reader reader = NAME_READER_NONE;
    struct error error = {.message = "as it was"};
    static const char *const paths[] = {"var/lib/docker/containers", "var/lib/docker", "var/lib/containers"};
    char path[128];

    for (size_t i = 0; i < 2; i++) {
        snprintf(path, sizeof(path), "%s/%s", rig->root, paths[i]);
        assert_int_equal(rmdir(path), 0);
    }
    assert_int_equal(name_reader_start(&rig->sys, &reader, &error), -ENOENT);
    assert_int_equal(reader.child.pid, 0);
    assert_string_equal(error.message, "as it was");
    snprintf(path, sizeof(path), "%s/%s", rig->root, paths[2]);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(name_reader_start(&rig->sys, &reader, &error), 0);
    name_reader_end(&reader);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_process_of_file_ends, reader_rig_setup, reader_rig_teardown),
        cmocka_unit_test_setup_teardown(test_privileges, reader_rig_setup, reader_rig_teardown),
        cmocka_unit_test_setup_teardown(test_signals, reader_rig_setup, reader_rig_teardown),
        cmocka_unit_test_setup_teardown(test_end, reader_rig_setup, reader_rig_teardown),
        cmocka_unit_test_setup_teardown(test_no_runtime, reader_rig_setup, reader_rig_teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
