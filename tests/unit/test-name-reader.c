/* SPDX-License-Identifier: Apache-2.0 */
/* A real reader: what it gives of a file, files that it refuses, its privileges, and its end. */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/process/fd-socket.h"
#include "base/sanitizer.h"
#include "collectors/names/reader/reader.h"
#include "collectors/names/record.h"
#include "tests/unit/test.h"

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define DOCUMENT "{\"Name\":\"/grafana\",\"Config\":{\"Env\":[\"PASSWORD=secret\"],\"Image\":\"grafana\"}}"

struct rig {
    char root[32];
    struct sys sys;
    struct name_reader reader;
};

/* The machine has the directory of docker, and nothing else. */
static int rig_setup(void **state)
{
    struct rig *rig = calloc(1, sizeof(*rig));
    char command[128];

    strcpy(rig->root, "/tmp/test-reader-XXXXXX");
    assert_non_null(mkdtemp(rig->root));
    snprintf(command, sizeof(command), "mkdir -p %s/var/lib/docker/containers", rig->root);
    assert_int_equal(system(command), 0); /* NOLINT: a fixed command */
    sys_init(&rig->sys);
    rig->sys.root = rig->root;
    struct error error = {0};
    int r = name_reader_start(&rig->sys, &rig->reader, &error);
    if (r < 0)
        fail_msg("%s", error.message);
    *state = rig;
    return 0;
}

static int rig_teardown(void **state)
{
    struct rig *rig = *state;
    char command[64];

    name_reader_end(&rig->reader);
    snprintf(command, sizeof(command), "rm -r %s", rig->root);
    assert_int_equal(system(command), 0); /* NOLINT */
    free(rig);
    return 0;
}

static void ask(struct rig *rig, uint64_t ticket, uint32_t place, int file)
{
    const struct state_request request = {.place = place, .ticket = ticket, .id = ID};

    assert_int_equal(fd_socket_send_one(rig->reader.files, &request, sizeof(request), file), 0);
}

/* The next packet. Its size; 0 at the end of the reader. */
static size_t hear(struct rig *rig, struct name_record *ret)
{
    char packet[NAME_RECORD_MAX];
    struct fd_list fds;
    struct pollfd poll_fd = {.fd = rig->reader.records, .events = POLLIN};

    assert_int_equal(poll(&poll_fd, 1, 20000), 1);
    ssize_t n = fd_socket_receive(rig->reader.records, packet, sizeof(packet), &fds, NULL);
    assert_true(n >= 0);
    assert_int_equal(fds.n, 0);
    assert_null(memmem(packet, (size_t)n, "secret", 6));
    if (n)
        assert_int_equal(name_record_parse(packet, (size_t)n, ret), 0);
    return (size_t)n;
}

static void hear_last(struct rig *rig, uint64_t ticket, int error)
{
    _cleanup_(name_record_done) struct name_record record = {0};

    assert_true(hear(rig, &record));
    assert_int_equal(record.header.ticket, ticket);
    assert_int_equal(record.header.is_last, 1);
    assert_int_equal(record.header.error, error);
    assert_string_equal(record.header.id, "");
}

static int make_file(const char *content, size_t size)
{
    int fd = memfd_create("test", MFD_CLOEXEC);

    assert_int_equal(write(fd, content, size), size);
    assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
    return fd;
}

static uint64_t version_of(int fd)
{
    struct stat status;

    assert_int_equal(fstat(fd, &status), 0);
    return state_file_version(&status);
}

/* The names leave, with the version of the file. */
static void assert_reads(struct rig *rig, uint64_t ticket)
{
    _cleanup_(closep) int file = make_file(DOCUMENT, strlen(DOCUMENT));
    _cleanup_(name_record_done) struct name_record record = {0};

    ask(rig, ticket, 0, file);
    assert_true(hear(rig, &record));
    assert_int_equal(record.header.ticket, ticket);
    assert_int_equal(record.header.version, version_of(file));
    assert_int_equal(record.header.is_last, 0);
    assert_string_equal(record.header.id, ID);
    assert_string_equal(record.names.texts[NAME_CONTAINER], "grafana");
    assert_string_equal(record.names.texts[NAME_IMAGE], "grafana");
    assert_string_equal(record.names.texts[NAME_RUNTIME], "docker");
    hear_last(rig, ticket, 0);
}

static void test_reads(void **state)
{
    for (uint64_t ticket = 1; ticket <= 20; ticket++)
        assert_reads(*state, ticket);
}

/* A packet that is no request changes nothing. */
static void test_no_request(void **state)
{
    struct rig *rig = *state;
    struct state_request request = {.ticket = 7};

    assert_int_equal(fd_socket_send_one(rig->reader.files, "x", 1, -1), 0);
    assert_int_equal(fd_socket_send_one(rig->reader.files, &request, sizeof(request), -1), 0);
    memset(request.id, 'a', sizeof(request.id));
    assert_int_equal(fd_socket_send_one(rig->reader.files, &request, sizeof(request), rig->reader.files), 0);
    assert_reads(rig, 8);
}

static void assert_refuses(struct rig *rig, uint32_t place, int file, int error)
{
    assert_true(file >= 0);
    ask(rig, 100, place, file);
    hear_last(rig, 100, error);
    close(file);
}

static void test_files_refused(void **state)
{
    struct rig *rig = *state;
    int pipes[2], large = memfd_create("test", MFD_CLOEXEC);

    assert_refuses(rig, 0, make_file("", 0), -EBADMSG);
    assert_refuses(rig, 0, make_file(DOCUMENT, strlen(DOCUMENT) - 1), -EBADMSG);
    assert_refuses(rig, UINT32_MAX, make_file(DOCUMENT, strlen(DOCUMENT)), -EBADMSG);
    assert_refuses(rig, 0, open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC), -EBADMSG);
    assert_refuses(rig, 0, open("/dev/zero", O_RDONLY | O_CLOEXEC), -EBADMSG);
    assert_refuses(rig, 0, open("/dev/null", O_WRONLY | O_CLOEXEC), -EBADMSG);
    assert_int_equal(pipe2(pipes, O_CLOEXEC), 0); /* nobody ever writes into it */
    assert_refuses(rig, 0, pipes[0], -EBADMSG);
    close(pipes[1]);
    assert_int_equal(ftruncate(large, 100 << 20), 0);
    assert_refuses(rig, 0, large, -EFBIG);
    assert_reads(rig, 9);
}

/* 4 MB of empty arrays need hundreds of megabytes: the process that reads them may not have those. */
static void test_memory(void **state)
{
    struct rig *rig = *state;
    struct buffer text = {0};

    if (HAS_ASAN)
        skip_because("AddressSanitizer takes more memory than any limit");
    buffer_append_text(&text, "[");
    while (text.size < STATE_FILE_MAX - 4)
        buffer_append_text(&text, "[],");
    buffer_append_text(&text, "7]");
    assert_refuses(rig, 0, make_file(text.data, text.size), -ENOMEM);
    buffer_done(&text);
    assert_reads(rig, 10);
}

static uint32_t place_of_store(void)
{
    uint32_t i = 0;

    while (state_place(i)->format != STATE_STORAGE)
        i++;
    return i;
}

/* A store of `n` containers. */
static int make_store(size_t n)
{
    _cleanup_(buffer_done) struct buffer text = {0};

    buffer_append_text(&text, "[");
    for (size_t i = 0; i < n; i++)
        buffer_appendf(&text, "%s{\"id\":\"%064zx\",\"names\":[\"c%zu\"]}", i ? "," : "", i, i);
    buffer_append_text(&text, "]");
    return make_file(text.data, text.size);
}

/* More records than the socket holds: the reader waits for the daemon as long as it takes. */
static void test_many_containers(void **state)
{
    struct rig *rig = *state;
    _cleanup_(closep) int file = make_store(5000);
    char id[STATE_ID_LENGTH + 1];

    ask(rig, 11, place_of_store(), file);
    usleep(HAS_ASAN ? 0 : 2500000); /* longer than a file may take */
    for (size_t i = 0; i < 5000; i++) {
        _cleanup_(name_record_done) struct name_record record = {0};
        assert_true(hear(rig, &record));
        snprintf(id, sizeof(id), "%064zx", i);
        assert_string_equal(record.header.id, id);
        assert_string_equal(record.names.texts[NAME_RUNTIME], "podman");
    }
    hear_last(rig, 11, 0);
}

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

/* A regular file of a file system that answers when it likes, as a user may have one. */
static void test_file_hangs(void **state)
{
    struct rig *rig = *state;
    int file = open("/sys/kernel/tracing/trace_pipe", O_RDONLY | O_CLOEXEC);

    if (file < 0)
        skip_because("/sys/kernel/tracing/trace_pipe, which answers when something is traced, cannot be opened: %s",
                     strerror(errno));
    assert_refuses(rig, 0, file, -EIO);
    assert_reads(rig, 16);
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
    struct rig *rig = *state;
    _cleanup_(closep) int file = make_store(5000);
    _cleanup_(name_record_done) struct name_record record = {0};
    size_t n = 0;

    ask(rig, 12, place_of_store(), file);
    assert_true(hear(rig, &record));
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
        assert_true(hear(rig, &record));
        n++;
    } while (!record.header.is_last);
    assert_true(n < 5000);
    assert_int_equal(record.header.ticket, 12);
    assert_int_equal(record.header.error, -EIO);
    assert_int_equal(record.header.version, version_of(file));
    assert_reads(rig, 13);
}

static void test_privileges(void **state)
{
    struct rig *rig = *state;
    struct process_stat stat;

    assert_jailed(rig->reader.child.pid, 1);
    assert_int_equal(child_read(&rig->reader.child, &stat), 0);
    assert_int_equal(stat.threads, 1);
}

/* Of signals that reach all processes of a service, none ends it. */
static void test_signals(void **state)
{
    static const int signals[] = {SIGHUP, SIGINT, SIGTERM, SIGUSR1, SIGPIPE};
    struct rig *rig = *state;

    for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
        assert_int_equal(kill(rig->reader.child.pid, signals[i]), 0);
    assert_reads(rig, 14);
}

/* It lives as long as somebody may send files, and then it has ended. */
static void test_end(void **state)
{
    struct rig *rig = *state;
    struct name_record record;
    pid_t pid = rig->reader.child.pid;
    int opener = dup(rig->reader.files);

    close(rig->reader.files);
    rig->reader.files = opener;
    assert_reads(rig, 15);
    close(rig->reader.files);
    rig->reader.files = -1;
    assert_int_equal(hear(rig, &record), 0);
    name_reader_end(&rig->reader);
    assert_int_equal(rig->reader.child.pid, 0);
    assert_int_equal(rig->reader.child.stat_fd, -1);
    assert_int_equal(kill(pid, 0), -1);
    name_reader_end(&rig->reader);
}

static void test_no_runtime(void **state)
{
    struct rig *rig = *state;
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
        cmocka_unit_test_setup_teardown(test_reads, rig_setup, rig_teardown),
        cmocka_unit_test_setup_teardown(test_no_request, rig_setup, rig_teardown),
        cmocka_unit_test_setup_teardown(test_files_refused, rig_setup, rig_teardown),
        cmocka_unit_test_setup_teardown(test_memory, rig_setup, rig_teardown),
        cmocka_unit_test_setup_teardown(test_many_containers, rig_setup, rig_teardown),
        cmocka_unit_test_setup_teardown(test_file_hangs, rig_setup, rig_teardown),
        cmocka_unit_test_setup_teardown(test_process_of_file_ends, rig_setup, rig_teardown),
        cmocka_unit_test_setup_teardown(test_privileges, rig_setup, rig_teardown),
        cmocka_unit_test_setup_teardown(test_signals, rig_setup, rig_teardown),
        cmocka_unit_test_setup_teardown(test_end, rig_setup, rig_teardown),
        cmocka_unit_test_setup_teardown(test_no_runtime, rig_setup, rig_teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
