/* SPDX-License-Identifier: Apache-2.0 */
/* Files of other processes, and what a finder gives to a daemon that an attacker controls. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "process/fdpass.h"
#include "process/finder.h"
#include "tests/unit/test.h"

#define PAGE 4096
#define NO_PROCESS 4194304 /* PID_MAX_LIMIT in include/linux/threads.h */

TEST(test_status)
{
    static const struct {
        const char *in;
        int out;
        struct find_owner out_owner;
    } cases[] = {
        {"Name:\tnode\nUid:\t1\t2\t3\t4\nNSpid:\t77\n", 0, {77, 2, 1}},
        {"Name:\tnode\nUid:\t1\t2\t3\t4\nGroups:\t5 6\nNSpid:\t77\t12\t1\nNSpgid:\t9\n", 0, {1, 2, 1}},
        {"Name:\tUid: 9\\nUid:\nUid:\t0\t0\t0\t0\n", 0, {100, 0, 0}},
        {"Name:\tnode\nUid:\t1\t4294967296\t3\t4\n", -EBADMSG, {0}},
        {"Name:\tnode\nNSpid:\t1\n", -EBADMSG, {0}},
        {"", -EBADMSG, {0}},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct find_owner owner = {0};
        assert_int_equal(find_parse_status(cases[i].in, 100, &owner), cases[i].out);
        assert_int_equal(owner.uid, cases[i].out_owner.uid);
        assert_int_equal(owner.real_uid, cases[i].out_owner.real_uid);
        assert_int_equal(owner.pid, cases[i].out_owner.pid);
    }
}

#define LINES                                                                                                          \
    "55d0c0000000-55d0c0001000 r--p 00000000 fe:00 123  /usr/bin/a b\n"                                                \
    "55d0c0001000-55d0c0002000 r-xp 00001000 fe:00 123  /usr/bin/a b\n"                                                \
    "55d0c0002000-55d0c0003000 rw-s 00002000 fe:00 123  /x-xxx r-xp\n"                                                 \
    "00400000-00401000 --xp 00000000 fe:00 9 /short\n"                                                                 \
    "ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0 [vsyscall]\n"

TEST(test_in_maps)
{
    static const struct {
        const char *in;
        uint64_t start, end;
        int out;
    } cases[] = {
        {LINES, 0x55d0c0000000, 0x55d0c0001000, -EBADRQC},
        {LINES, 0x55d0c0001000, 0x55d0c0002000, 1},
        {LINES, 0x55d0c0002000, 0x55d0c0003000, -EBADRQC},
        {LINES, 0x55d0c0001000, 0x55d0c0003000, 0},
        {LINES, 0x55d0c0000000, 0x55d0c0002000, 0},
        {LINES, 0x400000, 0x401000, 1},
        {LINES, 0xffffffffff600000, 0xffffffffff601000, 1},
        {LINES, 0, 0, 0},
        {"", 0, 0, 0},
        {"\n\n", 0, 0, 0},
        {"1-2 r-xp", 1, 2, 0},
        {"1-2 r-xp\n", 1, 2, 1},
        {"1-2 r-\n", 1, 2, 0},
        {"1-2\n3-4 r-xp\n", 3, 4, 1},
        {"x-2 r-xp\n", 1, 2, 0},
        {"1 -2 r-xp\n", 1, 2, 0},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        size_t size = strlen(cases[i].in);
        _cleanup_(freep) char *text =
            malloc(MAX(size, 1)); /* a block of exactly this size, so that AddressSanitizer detects reads past it */
        assert_non_null(text);
        memcpy(text, cases[i].in, size);
        int r = find_in_maps(text, size, cases[i].start, cases[i].end);
        if (r != cases[i].out)
            fail_msg("%zu: %d, not %d", i, r, cases[i].out);
    }
}

struct fixture {
    char directory[64], program[96], map[64];
    union find_buffer buffer;
};

static int setup(void **state)
{
    static struct fixture fixture;

    memset(&fixture, 0, sizeof(fixture));
    strcpy(fixture.directory, "/var/tmp/test-finder-XXXXXX"); /* /tmp may be a tmpfs */
    if (!mkdtemp(fixture.directory))
        return -1;
    snprintf(fixture.program, sizeof(fixture.program), "%s/program", fixture.directory);
    snprintf(fixture.map, sizeof(fixture.map), "/tmp/perf-%d.map", (int)getpid());
    *state = &fixture;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *fixture = *state;

    unlink(fixture->program);
    unlink(fixture->map);
    return rmdir(fixture->directory);
}

static void set_path(struct fixture *fixture, const char *path)
{
    strcpy(fixture->buffer.bytes + sizeof(struct find_request), path);
}

static void write_file(const char *path, const char *text, mode_t mode)
{
    _cleanup_(closep) int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    assert_int_equal(fchmod(fd, mode), 0);
}

static void *map_file(const char *path, int protection, struct find_request *request)
{
    _cleanup_(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
    void *address = mmap(NULL, PAGE, protection, MAP_PRIVATE, fd, 0);

    assert_true(address != MAP_FAILED);
    *request = (struct find_request){
        .find = FIND_MAPPED, .pid = (uint32_t)getpid(), .start = (uintptr_t)address, .end = (uintptr_t)address + PAGE};
    return address;
}

/* Opens the requested file and reads the start of its content, which is "" on error. */
static int find(const struct find_request *request, bool by_path, char text[8])
{
    _cleanup_(closep) int fd = -1;

    memset(text, 0, 8);
    int r = find_open(request, by_path, &fd);
    if (r == 0) {
        assert_int_equal(fcntl(fd, F_GETFL) & (O_ACCMODE | O_PATH), O_RDONLY);
        assert_true(read(fd, text, 7) >= 0);
    }
    return r;
}

TEST_WITH(test_mapped, setup, teardown)
{
    static const struct {
        int protection;
        mode_t mode;
        bool deleted;
        int out;
    } cases[] = {
        {PROT_READ | PROT_EXEC, 0755, false, 0},
        {PROT_READ | PROT_EXEC, 0711, false, 0},
        {PROT_READ | PROT_EXEC, 0644, false, 0},
        {PROT_READ | PROT_EXEC, 0755, true, 0}, /* the file is deleted, as after an update that replaced it */
        {PROT_READ | PROT_EXEC, 0600, false, -EBADRQC},
        {PROT_READ | PROT_EXEC, 0640, true, -EBADRQC},
        {PROT_READ, 0755, false, -EBADRQC},
    };
    struct fixture *fixture = *state;
    struct find_request *request = &fixture->buffer.request;
    char text[8];

    if (runs_emulated())
        skip_because("a program's own mappings under qemu");
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        write_file(fixture->program, "program", cases[i].mode);
        void *address = map_file(fixture->program, cases[i].protection, request);
        if (cases[i].deleted)
            assert_int_equal(unlink(fixture->program), 0);
        int r = find(request, false, text);
        if (r == -EPERM || r == -EACCES)
            skip_because("CAP_SYS_ADMIN or CAP_CHECKPOINT_RESTORE");
        if (r != cases[i].out || (r == 0 && !str_equal(text, "program")))
            fail_msg("%zu: %d, not %d", i, r, cases[i].out);
        request->inode = 1;
        if (r == 0)
            assert_int_equal(find(request, false, text), -ESTALE);
        munmap(address, PAGE);
        assert_int_equal(find(request, false, text), -ENOENT);
        unlink(fixture->program);
    }
    request->pid = NO_PROCESS;
    assert_int_equal(find(request, false, text), -ENOENT);
}

/* The opener's finder has the opener's privileges, so it opens no path that the daemon names. */
TEST_WITH(test_debug_file, setup, teardown)
{
    struct fixture *fixture = *state;
    struct find_request *request = &fixture->buffer.request;
    char text[8];

    write_file(fixture->program, "program", 0600);
    *request = (struct find_request){.find = FIND_DEBUG};
    strcpy(request->path, fixture->program);
    assert_int_equal(find(request, false, text), -EBADRQC);
    assert_int_equal(find(request, true, text), 0);
    assert_string_equal(text, "program");
    assert_int_equal(unlink(fixture->program), 0);
    assert_int_equal(find(request, true, text), -ENOENT);
}

/* Shared memory is not a program, even if it is mapped as executable: it may contain the buffers of a database. */
TEST(test_shared_memory)
{
    struct find_request request = {.find = FIND_MAPPED, .pid = (uint32_t)getpid()};
    char text[8];

    if (runs_emulated())
        skip_because("a program's own mappings under qemu");
    for (int i = 0; i < 2; i++) {
        _cleanup_(closep) int fd = i ? memfd_create("x", MFD_CLOEXEC) : -1;
        if (i)
            assert_int_equal(ftruncate(fd, PAGE), 0);
        void *address = mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_SHARED | (i ? 0 : MAP_ANONYMOUS), fd, 0);
        assert_true(address != MAP_FAILED);
        request.start = (uintptr_t)address;
        request.end = request.start + PAGE;
        int r = find(&request, false, text);
        if (r == -EPERM || r == -EACCES)
            skip_because("CAP_SYS_ADMIN or CAP_CHECKPOINT_RESTORE");
        assert_int_equal(r, -EBADRQC);
        munmap(address, PAGE);
    }
}

/* For a process that has exited, a finder with the daemon's privileges may open the file by its path. */
TEST_WITH(test_path, setup, teardown)
{
    struct fixture *fixture = *state;
    struct find_request *request = &fixture->buffer.request;
    struct stat status;
    char text[8];

    write_file(fixture->program, "program", 0644);
    assert_int_equal(stat(fixture->program, &status), 0);
    *request = (struct find_request){.find = FIND_MAPPED, .pid = NO_PROCESS, .inode = status.st_ino};
    set_path(fixture, fixture->program);
    assert_int_equal(find(request, false, text), -ENOENT);
    assert_int_equal(find(request, true, text), 0);
    assert_string_equal(text, "program");
    request->inode++;
    assert_int_equal(find(request, true, text), -ESTALE);
    request->inode = 0; /* the inode is unknown, so the reader of the file compares the build id instead */
    assert_int_equal(find(request, true, text), 0);
    set_path(fixture, "/dev/zero");
    assert_int_equal(find(request, true, text), -EINVAL);
    set_path(fixture, "");
    assert_int_equal(find(request, true, text), -ENOENT);
    set_path(fixture, "[vdso]");
    assert_int_equal(find(request, true, text), -ENOENT);
}

/* --- perf-PID.map files --- */

static int find_map(uint32_t pid)
{
    const struct find_request request = {.find = FIND_JIT_MAP, .pid = pid};
    char text[8];
    int r = find(&request, false, text);

    if (r == 0)
        assert_string_equal(text, "abc");
    return r;
}

static int find_own_map(void)
{
    return find_map((uint32_t)getpid());
}

TEST_WITH(test_jit_map, setup, teardown)
{
    struct fixture *fixture = *state;

    assert_int_equal(find_own_map(), -ENOENT);
    write_file(fixture->map, "abc", 0644);
    assert_int_equal(find_own_map(), 0);
    char linked[96];
    snprintf(linked, sizeof(linked), "%s.linked", fixture->map);
    assert_int_equal(link(fixture->map, linked), 0);
    assert_int_equal(find_own_map(), -EPERM); /* anybody may have created a link of that name to any file */
    assert_int_equal(unlink(fixture->map), 0);
    assert_int_equal(symlink(linked, fixture->map), 0);
    assert_int_equal(find_own_map(), -EPERM);
    assert_int_equal(unlink(linked), 0);
    assert_int_equal(unlink(fixture->map), 0);
    assert_int_equal(mkdir(fixture->map, 0700), 0);
    assert_int_equal(find_own_map(), -EPERM);
    assert_int_equal(rmdir(fixture->map), 0);
    /* A FIFO must not even be opened, since opening it can have an effect on other processes. */
    char events[256];
    assert_int_equal(mkfifo(fixture->map, 0644), 0);
    _cleanup_(closep) int watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    assert_true(inotify_add_watch(watch, fixture->map, IN_OPEN) >= 0);
    assert_int_equal(find_own_map(), -EPERM);
    assert_int_equal(read(watch, events, sizeof(events)), -1);
    assert_int_equal(find_map(NO_PROCESS), -ENOENT);
}

TEST_WITH(test_owner, setup, teardown)
{
    struct fixture *fixture = *state;

    if (geteuid() != 0)
        skip_because("root, to give a file away");
    write_file(fixture->map, "abc", 0644);
    assert_int_equal(chown(fixture->map, 1, 1), 0);
    assert_int_equal(find_own_map(), -EPERM);
    assert_int_equal(seteuid(1), 0); /* as the owner of the file */
    int own = find_own_map();
    assert_int_equal(seteuid(0), 0);
    assert_int_equal(chown(fixture->map, 0, 0), 0);
    assert_int_equal(seteuid(1), 0);
    int roots = find_own_map();
    assert_int_equal(seteuid(0), 0);
    assert_int_equal(own, 0);
    assert_int_equal(roots, -EPERM);
}

/* --- the finder as a process --- */

/*
 * A malformed packet ends the finder. A request that already carries its file, or whose file is not found, is passed on
 * to the next process.
 */
TEST_WITH(test_serve, setup, teardown)
{
    struct fixture *fixture = *state;
    int in[2], out[2], status, fd;
    union find_buffer got;

    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, in), 0);
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, out), 0);
    pid_t child = fork();
    if (child == 0) {
        close(in[0]);
        close(out[0]);
        _exit(finder_serve(in[1], out[1], true));
    }
    close(in[1]);
    close(out[1]);
    struct find_request *request = &fixture->buffer.request;
    *request = (struct find_request){.magic = FIND_MAGIC, .find = FIND_MAPPED, .pid = NO_PROCESS, .kind = 7, .max = 9};
    set_path(fixture, "/nowhere");
    assert_int_equal(send(in[0], request, find_request_size(request), 0), find_request_size(request));
    assert_int_equal(find_request_receive(out[0], &got, &fd), 0);
    assert_int_equal(fd, -1);
    assert_int_equal(got.request.error, -ENOENT);
    assert_int_equal(got.request.kind, 7);
    assert_int_equal(got.request.max, 9);
    assert_string_equal(got.request.path, "/nowhere");
    request->find = FIND_NOTHING;
    assert_int_equal(fd_socket_send_one(in[0], request, find_request_size(request), in[0]), 0);
    assert_int_equal(find_request_receive(out[0], &got, &fd), 0);
    assert_true(fd >= 0);
    close(fd);
    assert_int_equal(send(in[0], request, find_request_size(request) - 1, 0), find_request_size(request) - 1);
    assert_int_equal(find_request_receive(out[0], &got, &fd), -EPIPE);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, EXIT_FAILURE << 8);
    close(in[0]);
    close(out[0]);
}

TEST_MAIN(NULL, NULL)
