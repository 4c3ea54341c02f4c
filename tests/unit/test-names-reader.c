/* SPDX-License-Identifier: Apache-2.0 */
/* The process that reads state files: its records, the files that it refuses, its sandbox, and how it ends. */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/compat.h"
#include "base/file.h"
#include "cgroups/names-reader.h"
#include "cgroups/state-formats.h"
#include "process/fdpass.h"
#include "process/stragglers.h"
#include "tests/unit/test.h"

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static struct {
    char root[32];
    struct sys sys;
    struct name_reader reader;
} rig;

#define DOCUMENT "{\"Name\":\"/grafana\",\"Config\":{\"Env\":[\"PASSWORD=secret\"],\"Image\":\"grafana\"}}"

/* Of all state directories, the machine has only Docker's. */
static int setup(void **state)
{
    char command[128];

    strcpy(rig.root, "/tmp/test-reader-XXXXXX");
    assert_non_null(mkdtemp(rig.root));
    snprintf(command, sizeof(command), "mkdir -p %s/var/lib/docker/containers", rig.root);
    assert_int_equal(system(command), 0); /* NOLINT: a fixed command */
    sys_init(&rig.sys);
    rig.sys.root = rig.root;
    struct error error = {0};
    int r = name_reader_start(&rig.sys, &rig.reader, &error);
    if (r < 0)
        fail_msg("%s", error.message);
    return 0;
}

static int teardown(void **state)
{
    char command[64];

    name_reader_end(&rig.reader);
    snprintf(command, sizeof(command), "rm -r %s", rig.root);
    assert_int_equal(system(command), 0); /* NOLINT */
    return 0;
}

/* Sends a request for the container ID. The caller still has to close the file. */
static void ask(uint64_t ticket, uint32_t place, int file)
{
    const struct state_request request = {.place = place, .ticket = ticket, .id = ID};

    assert_int_equal(fd_socket_send_one(rig.reader.files, &request, sizeof(request), file), 0);
}

/* Receives the next packet and returns its size, or 0 once the reader has closed the socket. */
static size_t receive(struct names_packet *ret)
{
    char packet[NAMES_PACKET_MAX];
    struct fd_list fds;
    struct pollfd poll_fd = {.fd = rig.reader.records, .events = POLLIN};

    assert_int_equal(poll(&poll_fd, 1, 60000), 1);
    ssize_t n = fd_socket_receive(rig.reader.records, packet, sizeof(packet), &fds, NULL);
    assert_true(n >= 0);
    assert_int_equal(fds.n, 0);
    assert_null(memmem(packet, (size_t)n, "secret", 6));
    if (n)
        assert_int_equal(names_packet_parse(packet, (size_t)n, ret), 0);
    return (size_t)n;
}

static void receive_last(uint64_t ticket, int error)
{
    _cleanup_(names_packet_done) struct names_packet record = {0};

    assert_true(receive(&record));
    assert_int_equal(record.header.ticket, ticket);
    assert_int_equal(record.header.is_last, 1);
    assert_int_equal(record.header.error, error);
    assert_string_equal(record.header.id, "");
}

/* Returns a memory file with this content. */
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

/* The reader returns the names in a file together with the file's version. */
static void assert_reads(uint64_t ticket)
{
    _cleanup_(closep) int file = make_file(DOCUMENT, strlen(DOCUMENT));
    _cleanup_(names_packet_done) struct names_packet record = {0};

    ask(ticket, 0, file);
    assert_true(receive(&record));
    assert_int_equal(record.header.ticket, ticket);
    assert_int_equal(record.header.error, 0);
    assert_int_equal(record.header.version, version_of(file));
    assert_int_equal(record.header.is_last, 0);
    assert_string_equal(record.header.id, ID);
    assert_string_equal(record.names.texts[NAME_CONTAINER], "grafana");
    assert_string_equal(record.names.texts[NAME_IMAGE], "grafana");
    assert_string_equal(record.names.texts[NAME_RUNTIME], "docker");
    receive_last(ticket, 0);
}

static uint32_t place_of_store(void)
{
    uint32_t i = 0;

    while (state_place(i)->format != STATE_STORAGE)
        i++;
    return i;
}

/* Returns a store of `n` containers "c0", "c1" and so on. */
static int make_store(size_t n)
{
    _cleanup_(buffer_done) struct buffer text = {0};

    buffer_append_text(&text, "[");
    for (size_t i = 0; i < n; i++)
        buffer_appendf(&text, "%s{\"id\":\"%064zx\",\"names\":[\"c%zu\"]}", i ? "," : "", i, i);
    buffer_append_text(&text, "]");
    return make_file(text.data, text.size);
}

static void set_text(struct names *names, enum name_kind kind, const char *text)
{
    assert_int_equal(names_set(names, kind, text, strlen(text)), 0);
}

static struct buffer write_record(const struct names_packet *record)
{
    struct buffer packet = {0};

    assert_int_equal(names_packet_write(record, &packet), 0);
    assert_true(packet.size <= NAMES_PACKET_MAX);
    return packet;
}

/* The longest names fit into a packet, and control characters from a compromised reader never reach a label. */
TEST(test_any_text)
{
    char text[NAME_SIZE_MAX + 1];
    _cleanup_(names_packet_done) struct names_packet in = {.header.id = ID}, out = {0};

    memset(text, 'x', sizeof(text) - 1);
    text[NAME_SIZE_MAX] = '\0';
    for (size_t i = NAME_CONTAINER; i <= NAME_RUNTIME; i++)
        set_text(&in.names, (enum name_kind)i, text);
    _cleanup_(buffer_done) struct buffer packet = write_record(&in);
    assert_int_equal(packet.size, NAMES_PACKET_MAX);
    packet.data[sizeof(in.header) + 2] = '\n';
    assert_int_equal(names_packet_parse(packet.data, packet.size, &out), 0);
    assert_memory_equal(out.names.texts[NAME_CONTAINER], "\xef\xbf\xbdx", 4);
    assert_string_equal(out.names.texts[NAME_RUNTIME], text);
}

static const struct {
    struct names_packet_header in;
    int out;
} headers[] = {
    {{.id = ID}, 0},
    {{.id = ID, .is_pause = 1}, 0},
    {{.is_last = 1}, 0},
    {{.is_last = 1, .error = -EBADMSG}, 0},
    {{.is_last = 0}, -EBADMSG},
    {{.is_last = 1, .id = ID}, -EBADMSG},
    {{.is_last = 2}, -EBADMSG},
    {{.is_last = 1, .error = 1}, -EBADMSG},
    {{.id = ID, .error = -EIO}, -EBADMSG},
    {{.id = ID, .is_pause = 2}, -EBADMSG},
    {{.id = "0123"}, -EBADMSG},
    {{.id = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdeF"}, -EBADMSG},
    {{.id = "../../../../../../../../../../../../../../../../../../etc/passwd"}, -EBADMSG},
};

TEST(test_headers)
{
    for (size_t i = 0; i < ARRAY_SIZE(headers); i++) {
        const struct names_packet in = {.header = headers[i].in};
        _cleanup_(names_packet_done) struct names_packet out = {0};
        _cleanup_(buffer_done) struct buffer packet = write_record(&in);
        print_message("%zu\n", i);
        assert_int_equal(names_packet_parse(packet.data, packet.size, &out), headers[i].out);
    }
}

/* Truncated packets, packets with trailing bytes, and an unterminated id are refused. */
TEST(test_sizes)
{
    _cleanup_(names_packet_done) struct names_packet in = {.header.id = ID}, out = {0};
    struct names_packet_header header = in.header;

    set_text(&in.names, NAME_RUNTIME, "podman");
    _cleanup_(buffer_done) struct buffer packet = write_record(&in);
    for (size_t size = 0; size < packet.size; size++) {
        _cleanup_(freep) char *copy = malloc(size ? size : 1); /* exactly this size, for AddressSanitizer */
        memcpy(copy, packet.data, size);
        assert_int_equal(names_packet_parse(copy, size, &out), -EBADMSG);
    }
    buffer_append_char(&packet, 'x');
    assert_int_equal(names_packet_parse(packet.data, packet.size, &out), -EBADMSG);
    packet.size--;
    header.id[STATE_ID_LENGTH] = '0';
    memcpy(packet.data, &header, sizeof(header));
    assert_int_equal(names_packet_parse(packet.data, packet.size, &out), -EBADMSG);
    const uint16_t too_long = NAME_SIZE_MAX + 1;
    memcpy(packet.data, &in.header, sizeof(in.header));
    memcpy(packet.data + sizeof(in.header), &too_long, sizeof(too_long));
    memset(buffer_reserve(&packet, 2 * NAME_SIZE_MAX), 0, 2 * NAME_SIZE_MAX);
    buffer_advance(&packet, 2 * NAME_SIZE_MAX);
    assert_int_equal(names_packet_parse(packet.data, packet.size, &out), -EBADMSG);
}

/* A malformed request is ignored. */
TEST_WITH(test_no_request, setup, teardown)
{
    struct state_request request = {.ticket = 7};

    assert_int_equal(fd_socket_send_one(rig.reader.files, "x", 1, -1), 0);
    assert_int_equal(fd_socket_send_one(rig.reader.files, &request, sizeof(request), -1), 0);
    memset(request.id, 'a', sizeof(request.id));
    assert_int_equal(fd_socket_send_one(rig.reader.files, &request, sizeof(request), rig.reader.files), 0);
    assert_reads(8);
}

static void assert_refuses(uint32_t place, int file, int error)
{
    assert_true(file >= 0);
    ask(100, place, file);
    receive_last(100, error);
    close(file);
}

TEST_WITH(test_files_refused, setup, teardown)
{
    int pipes[2], large = memfd_create("test", MFD_CLOEXEC);

    assert_refuses(0, make_file("", 0), -EBADMSG);
    assert_refuses(0, make_file(DOCUMENT, strlen(DOCUMENT) - 1), -EBADMSG);
    assert_refuses(UINT32_MAX, make_file(DOCUMENT, strlen(DOCUMENT)), -EBADMSG);
    assert_refuses(0, open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC), -EBADMSG);
    assert_refuses(0, open("/dev/zero", O_RDONLY | O_CLOEXEC), -EBADMSG);
    assert_refuses(0, open("/dev/null", O_WRONLY | O_CLOEXEC), -EBADMSG);
    assert_int_equal(pipe2(pipes, O_CLOEXEC), 0); /* the pipe never has data */
    assert_refuses(0, pipes[0], -EBADMSG);
    close(pipes[1]);
    assert_int_equal(ftruncate(large, 100 << 20), 0);
    assert_refuses(0, large, -EFBIG);
    assert_reads(9);
}

/* 4 MB of empty arrays need hundreds of megabytes when parsed, which exceeds the memory limit of the child. */
TEST_WITH(test_memory, setup, teardown)
{
    struct buffer text = {0};

    if (HAS_ASAN)
        skip_because("a memory limit under AddressSanitizer");
    if (runs_emulated())
        skip_because("a memory limit under qemu");
    buffer_append_text(&text, "[");
    while (text.size < STATE_FILE_MAX - 4)
        buffer_append_text(&text, "[],");
    buffer_append_text(&text, "7]");
    assert_refuses(0, make_file(text.data, text.size), -ENOMEM);
    buffer_done(&text);
    assert_reads(10);
}

/* --- the time limit of parsing --- */

#define TICKET_OF_TIMERS 77

int __real_state_document_read(const struct state_request *request, const char *content, size_t size, name_found found,
                               void *userdata);
int __wrap_state_document_read(const struct state_request *request, const char *content, size_t size, name_found found,
                               void *userdata);

/*
 * Replaces the parser in the child. With TICKET_OF_TIMERS, the parser fails if a wall-clock timer is running, since
 * such a timer would expire on a busy machine. Otherwise, the parser shortens the CPU time limit and exceeds it.
 */
int __wrap_state_document_read(const struct state_request *request, const char *content, size_t size, name_found found,
                               void *userdata)
{
    static const struct itimerval none, millisecond = {.it_value = {.tv_usec = 1000}};
    struct itimerval real, cpu;

    if (request->ticket != TICKET_OF_TIMERS)
        return __real_state_document_read(request, content, size, found, userdata);
    if (setitimer(ITIMER_REAL, &none, &real) < 0 || timerisset(&real.it_value) ||
        setitimer(ITIMER_PROF, &millisecond, &cpu) < 0 || !timerisset(&cpu.it_value))
        return -ETIME;
    for (;;)
        continue;
}

TEST_WITH(test_parsing_is_limited_by_cpu_time, setup, teardown)
{
    _cleanup_(closep) int file = make_file(DOCUMENT, strlen(DOCUMENT));

    ask(TICKET_OF_TIMERS, 0, file);
    receive_last(TICKET_OF_TIMERS, -EIO);
    assert_reads(16);
}

/* If there are more records than the socket holds, the reader waits for the daemon. */
TEST_WITH(test_many_containers, setup, teardown)
{
    _cleanup_(closep) int file = make_store(5000);
    char id[STATE_ID_LENGTH + 1];

    ask(11, place_of_store(), file);
    for (size_t i = 0; i < 5000; i++) {
        _cleanup_(names_packet_done) struct names_packet record = {0};
        assert_true(receive(&record));
        snprintf(id, sizeof(id), "%064zx", i);
        assert_string_equal(record.header.id, id);
        assert_string_equal(record.names.texts[NAME_RUNTIME], "podman");
    }
    receive_last(11, 0);
}

/* Sends a request for a file of `user`. The user's number is also the ticket. */
static void ask_for(uint32_t user, int file)
{
    const struct state_request request = {.ticket = user, .user = user, .id = ID};

    assert_int_equal(fd_socket_send_one(rig.reader.files, &request, sizeof(request), file), 0);
}

/* Receives records up to the next one with is_last. Returns its error, and sets *ret_user to its ticket. */
static int receive_error(uint32_t *ret_user)
{
    struct names_packet record;
    bool is_last;
    int error;

    do {
        assert_true(receive(&record));
        *ret_user = (uint32_t)record.header.ticket;
        is_last = record.header.is_last;
        error = record.header.error;
        names_packet_done(&record);
    } while (!is_last);
    return error;
}

static bool is_read(uint32_t user)
{
    _cleanup_(closep) int file = make_file(DOCUMENT, strlen(DOCUMENT));
    uint32_t of;

    ask_for(user, file);
    int error = receive_error(&of);
    assert_int_equal(of, user);
    return error == 0;
}

/*
 * Reading this file blocks, as reading a file of a user's FUSE file system can: it belongs to an empty trace buffer
 * that this test created. More users than STRAGGLERS_MAX have such a file. Once the killed children have ended, other
 * files of these users are read. tests/e2e/hang-names.sh covers children that SIGKILL does not end.
 */
TEST_WITH(test_file_hangs, setup, teardown)
{
    bool received[2 * STRAGGLERS_MAX] = {false};
    char buffer[64], path[80];
    uint32_t user;

    snprintf(buffer, sizeof(buffer), "/sys/kernel/tracing/instances/perfcountd-%d", (int)getpid());
    snprintf(path, sizeof(path), "%s/trace_pipe", buffer);
    if (mkdir(buffer, 0700) < 0)
        skip_because("/sys/kernel/tracing/instances");
    int file = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(file >= 0);
    for (user = 0; user < ARRAY_SIZE(received); user++)
        ask_for(user, file);
    for (size_t i = 0; i < ARRAY_SIZE(received); i++) {
        assert_int_equal(receive_error(&user), -EHOSTDOWN);
        assert_true(user < ARRAY_SIZE(received) && !received[user]);
        received[user] = true;
    }
    for (user = 0; user <= ARRAY_SIZE(received); user++)
        eventually(is_read(user), "a file of that user to be read");
    close(file);
    eventually(rmdir(buffer) == 0, "the kernel to remove the trace buffer");
}

/* Returns the child that reads the file. Call this once the child has filled the socket. */
static pid_t find_process_of_file(pid_t reader)
{
    _cleanup_(freep) char *text = NULL;
    char path[64];

    snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)reader, (int)reader);
    if (file_read(AT_FDCWD, path, 4096, &text, NULL) < 0)
        skip_because("CONFIG_PROC_CHILDREN");
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

/* Returns the number of seccomp filters of a process, or -1 before Linux 5.9, which does not report it. */
static long filters_in(const char *status)
{
    static const char key[] = "\nSeccomp_filters:\t";
    const char *line = strstr(status, key);

    return line ? strtol(line + strlen(key), NULL, 10) : -1;
}

/*
 * Asserts that the process has no privileges, and has `filters` seccomp filters in addition to those of this process.
 */
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

/* Returns the number of descriptors above 2 whose link in /proc/PID/fd begins with `type`. */
static size_t count_descriptors(pid_t pid, const char *type)
{
    char path[64], link[64];
    size_t n = 0;

    for (int fd = STDERR_FILENO + 1; fd < 1024; fd++) {
        snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)pid, fd);
        ssize_t size = readlink(path, link, sizeof(link) - 1);
        link[MAX(size, 0)] = '\0';
        n += size > 0 && strncmp(link, type, strlen(type)) == 0;
    }
    return n;
}

/*
 * If the child that reads a file ends early, only the names in that file are lost. The child has no access to other
 * files.
 */
TEST_WITH(test_process_of_file_ends, setup, teardown)
{
    _cleanup_(closep) int file = make_store(5000);
    _cleanup_(names_packet_done) struct names_packet record = {0};
    size_t n = 0;

    ask(12, place_of_store(), file);
    assert_true(receive(&record));
    pid_t pid = find_process_of_file(rig.reader.child.pid);
    assert_true(pid > 0);
    if (geteuid() == 0) {
        assert_int_equal(count_descriptors(rig.reader.child.pid, "/"), 0); /* the reader itself has no file open */
        assert_int_equal(count_descriptors(rig.reader.child.pid, "socket:"), 4);
        assert_int_equal(count_descriptors(pid, ""), 1);
    } else {
        leave_out("root, to see the reader's descriptors");
    }
    assert_jailed(pid, 2);
    assert_int_equal(kill(pid, SIGKILL), 0);
    do {
        names_packet_done(&record);
        assert_true(receive(&record));
        n++;
    } while (!record.header.is_last);
    assert_true(n < 5000);
    assert_int_equal(record.header.ticket, 12);
    assert_int_equal(record.header.error, -EIO);
    assert_int_equal(record.header.version, version_of(file));
    assert_reads(13);
}

/* The reader survives signals that are sent to all processes of a service. */
TEST_WITH(test_signals, setup, teardown)
{
    static const int signals[] = {SIGHUP, SIGINT, SIGTERM, SIGUSR1, SIGPIPE};
    assert_jailed(rig.reader.child.pid, 1);
    for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
        assert_int_equal(kill(rig.reader.child.pid, signals[i]), 0);
    assert_reads(14);
}

/* The reader lives until all senders of files have closed their socket, then it exits. */
TEST_WITH(test_end, setup, teardown)
{
    struct names_packet record;
    pid_t pid = rig.reader.child.pid;
    int opener = dup(rig.reader.files);

    close(rig.reader.files);
    rig.reader.files = opener;
    assert_reads(15);
    close(rig.reader.files);
    rig.reader.files = -1;
    assert_int_equal(receive(&record), 0);
    name_reader_end(&rig.reader);
    assert_int_equal(rig.reader.child.pid, 0);
    assert_int_equal(rig.reader.child.stat_fd, -1);
    assert_int_equal(kill(pid, 0), -1);
    name_reader_end(&rig.reader);
}

TEST_WITH(test_no_runtime, setup, teardown)
{
    struct name_reader reader = NAME_READER_NONE;
    struct error error = {.message = "as it was"};
    static const char *const paths[] = {"var/lib/docker/containers", "var/lib/docker", "var/lib/containers"};
    char path[128];

    for (size_t i = 0; i < 2; i++) {
        snprintf(path, sizeof(path), "%s/%s", rig.root, paths[i]);
        assert_int_equal(rmdir(path), 0);
    }
    assert_int_equal(name_reader_start(&rig.sys, &reader, &error), -ENOENT);
    assert_int_equal(reader.child.pid, 0);
    assert_string_equal(error.message, "as it was");
    snprintf(path, sizeof(path), "%s/%s", rig.root, paths[2]);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(name_reader_start(&rig.sys, &reader, &error), 0);
    name_reader_end(&reader);
}

TEST_MAIN(NULL, NULL)
