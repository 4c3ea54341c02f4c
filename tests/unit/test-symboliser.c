/* SPDX-License-Identifier: Apache-2.0 */
/* A real symboliser: corrupt files, its end, its time, and its privileges. */
#include <fcntl.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/process/fd-socket.h"
#include "symbols/symboliser/symboliser.h"
#include "tests/unit/symbolised.h"
#include "tests/unit/test.h"

__attribute__((noinline)) static int known_static_function(int x)
{
    __asm__ volatile("" : "+r"(x));
    return x + 1;
}

static void write_file(const struct symbolised *fixture, const char *name, const char *bytes, size_t size, char *path)
{
    sprintf(path, "%s/%s", fixture->directory, name);
    _cleanup_(closep) int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0700);
    assert_int_equal(write(fd, bytes, size), size);
}

/* After a record of it: the file is mapped from its start at 0x10000. */
static struct frame resolve_file(struct symbolised *fixture, uint32_t pid, const char *path, uint64_t ip)
{
    struct stat status;

    assert_int_equal(stat(path, &status), 0);
    struct record record = {.type = PERF_RECORD_MMAP2,
                            .mmap = {.pid = pid,
                                     .tid = pid,
                                     .address = 0x10000,
                                     .length = 0x10000000,
                                     .inode = status.st_ino,
                                     .protection = PROT_EXEC,
                                     .file = path}};
    symbols_update(fixture->symbols, &record);
    return symbolised_resolve(fixture, pid, ip);
}

static char *good_program(size_t *ret_size)
{
    char *bytes;

    assert_int_equal(file_read(AT_FDCWD, "/bin/true", 64 << 20, &bytes, ret_size), 0);
    return bytes;
}

/* No content of a file harms this process, and the next good file is read. */
static void test_corrupt_files(void **state)
{
    struct symbolised *fixture = *state;
    _cleanup_(freep) char *bytes = NULL, *copy = NULL;
    size_t size;
    char path[128], name[32];
    unsigned random = 1;

    symbolised_need_libdw();
    bytes = good_program(&size);
    copy = malloc(size);
    for (unsigned i = 0; i < 120; i++) {
        size_t length = size;
        memcpy(copy, bytes, size);
        random = random * 1103515245 + 12345;
        if (i % 3 == 0)
            length = i < 60 ? i * 4 : random % size;
        for (unsigned k = 0; i % 3 && k < 1 + i; k++) {
            random = random * 1103515245 + 12345;
            copy[(random >> 8) % (i % 3 == 1 ? 64 : size)] = (char)(random >> 4);
        }
        snprintf(name, sizeof(name), "file%u", i);
        write_file(fixture, name, copy, length, path);
        resolve_file(fixture, 100, path, 0x10040);
    }
    symbolised_scan(fixture, (uint32_t)getpid());
    struct frame frame = symbolised_resolve(fixture, (uint32_t)getpid(), (uintptr_t)known_static_function);
    assert_string_equal(frame.symbol, "known_static_function");
}

/* If the process ends, only the file that it was reading has no symbols. */
static void test_symboliser_ends(void **state)
{
    struct symbolised *fixture = *state;
    uint32_t pid = (uint32_t)getpid();
    struct frame frame;

    symbolised_need_libdw();
    symbolised_scan(fixture, pid);
    pid_t child = fixture->child.pid;
    assert_true(child > 0);
    assert_int_equal(kill(child, SIGSTOP), 0);
    symbols_resolve(fixture->symbols, pid, false, (uintptr_t)known_static_function, &frame);
    symbols_resolve(fixture->symbols, pid, false, (uintptr_t)sd_event_new, &frame);
    assert_true(symbols_pending(fixture->symbols));
    assert_int_equal(kill(child, SIGKILL), 0);
    frame = symbolised_resolve(fixture, pid, (uintptr_t)sd_event_new);
    assert_string_equal(frame.symbol, "sd_event_new");
    assert_true(fixture->child.pid != child);
    frame = symbolised_resolve(fixture, pid, (uintptr_t)known_static_function);
    assert_null(frame.symbol); /* the file that it ended over */
    /* A caller that has left is not called. */
    fixture->calls = 0;
    assert_int_equal(symbols_scan(fixture->symbols, pid, symbolised_count, fixture), 0);
    symbols_cancel(fixture->symbols, fixture);
    symbolised_run(fixture, 1, 1);
    assert_int_equal(fixture->calls, 0);
}

/* A process that hangs over a file is killed. */
static void test_hangs(void **state)
{
    struct symbolised *fixture = *state;
    uint32_t pid = (uint32_t)getpid();
    struct frame frame;

    symbolised_need_libdw();
    symbolised_scan(fixture, pid);
    pid_t child = fixture->child.pid;
    assert_int_equal(kill(child, SIGSTOP), 0);
    time_t start = time(NULL);
    frame = symbolised_resolve(fixture, pid, (uintptr_t)known_static_function);
    assert_null(frame.symbol);
    assert_in_range(time(NULL) - start, 4, 9);
    assert_int_equal(kill(child, 0), -1);
}

/* A process of the symboliser's user that has many descriptors in flight; it is the caller's to end. */
static pid_t start_flood(void)
{
    int sockets[2], ready[2];
    char byte;

    assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
    pid_t child = fork();
    if (child == 0) {
        if (geteuid() == 0 && setresuid(65534, 65534, 65534) < 0)
            _exit(1);
        for (int i = 0; i < 4 && socketpair(AF_UNIX, SOCK_SEQPACKET, 0, sockets) == 0; i++)
            for (int k = 0; k < 32; k++)
                fd_socket_send_one_now(sockets[0], "", 1, ready[0]);
        _exit(write(ready[1], "", 1) == 1 ? pause() : 1);
    }
    close(ready[1]);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    return child;
}

/* Descriptors in flight are limited for all processes of a user: a table waits until there is room, and is not lost. */
static void test_too_many_in_flight(void **state)
{
    struct symbolised *fixture = *state;
    uint32_t pid = (uint32_t)getpid();

    symbolised_need_libdw();
    symbolised_scan(fixture, pid);
    pid_t child = fixture->child.pid, flood = start_flood();
    struct frame frame = symbolised_resolve(fixture, pid, (uintptr_t)known_static_function);
    const char *reason = symbols_reason_user(fixture->symbols);
    bool said = reason && strstr(reason, "they are tried again");
    kill(flood, SIGKILL);
    assert_int_equal(waitpid(flood, NULL, 0), flood);
    assert_null(frame.symbol);
    assert_true(said);
    for (int seconds = 0; !frame.symbol && seconds < 10; seconds++) { /* others of this user may have some as well */
        sleep(1);
        frame = symbolised_resolve(fixture, pid, (uintptr_t)known_static_function);
    }
    assert_non_null(frame.symbol);
    assert_string_equal(frame.symbol, "known_static_function");
    assert_int_equal(fixture->child.pid, child);
}

/* While this file is there, the processes of a test greet again and again. */
static void name_flag(char *path, size_t size, pid_t test)
{
    snprintf(path, size, "/tmp/test-symboliser-greets-%d", (int)test);
}

static int greet_again(int socket)
{
    const struct symboliser_answer hello = {SYMBOLISER_MAGIC, SYMBOLISER_HELLO};
    int stat = open("/proc/self/stat", O_RDONLY | O_CLOEXEC), other = open("/proc/version", O_RDONLY | O_CLOEXEC);

    fd_socket_send_one(socket, &hello, sizeof(hello), stat);
    fd_socket_send_one(socket, &hello, sizeof(hello), other);
    return pause();
}

/* A process that was taken over cannot say what it costs: only the first message does, before it has read anything. */
static void test_greets_again(void **state)
{
    struct symbolised *fixture = *state;
    char flag[64];

    name_flag(flag, sizeof(flag), getpid());
    _cleanup_(fclosep) FILE *file = fopen(flag, "we");
    assert_non_null(file);
    time_t start = time(NULL);
    symbolised_scan(fixture, (uint32_t)getpid());
    struct frame frame = symbolised_resolve(fixture, (uint32_t)getpid(), (uintptr_t)known_static_function);
    unlink(flag);
    assert_null(frame.symbol);
    assert_true(time(NULL) - start < 4); /* it was ended, and not waited for */
    assert_int_equal(fixture->child.stat_fd, -1);
}

static void assert_status(const char *status, const char *key, const char *value)
{
    const char *line = strstr(status, key);

    assert_non_null(line);
    line += strlen(key) + strspn(line + strlen(key), "\t ");
    if (!str_starts(line, value))
        fail_msg("%s %.40s", key, line);
}

/* The process that reads untrusted files has no powers. */
static void test_privileges(void **state)
{
    struct symbolised *fixture = *state;
    _cleanup_(freep) char *status = NULL;

    symbolised_scan(fixture, (uint32_t)getpid());
    assert_int_equal(sys_read_filef(&fixture->sys, &status, "/proc/%d/status", fixture->child.pid), 0);
    assert_status(status, "NoNewPrivs:", "1");
    assert_status(status, "CapPrm:", "0000000000000000");
    assert_status(status, "CapEff:", "0000000000000000");
    assert_status(status, "CapAmb:", "0000000000000000");
    assert_status(status, "Seccomp:", "2");
    if (geteuid() == 0) {
        assert_status(status, "Uid:", "65534\t65534\t65534\t65534");
        assert_status(status, "Gid:", "65534\t65534\t65534\t65534");
        assert_status(status, "Groups:", "\n");
        assert_status(status, "CapBnd:", "0000000000000000");
    }
    struct stat memory;
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/mem", fixture->child.pid);
    assert_int_equal(stat(path, &memory), 0);
    assert_int_equal(memory.st_uid, 0); /* a process that is not dumpable belongs to root */
}

/* A process that would stay root reads nothing, and the reason is reported. */
static int be_unconfined(void)
{
    struct symbolised fixture = {0};

    if (prctl(PR_CAPBSET_DROP, CAP_SETUID, 0, 0, 0) < 0)
        return 1;
    sys_init(&fixture.sys);
    if (sd_event_new(&fixture.event) < 0 || symbols_new(&fixture.sys, fixture.event, &fixture.symbols) < 0)
        return 2;
    fixture.child = CHILD_NONE;
    symbols_set_child(fixture.symbols, &fixture.child);
    symbolised_scan(&fixture, (uint32_t)getpid());
    const char *reason = symbols_reason_user(fixture.symbols);
    bool runs = fixture.child.pid != 0;
    symbols_free(fixture.symbols);
    sd_event_unref(fixture.event);
    return runs || !reason || !strstr(reason, "start perfcountd as another user");
}

static void test_unconfined(void **state)
{
    int status;

    (void)state;
    if (geteuid() != 0)
        skip_because("only root has privileges to keep");
    pid_t child = fork();
    if (child == 0)
        _exit(be_unconfined());
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_corrupt_files, symbolised_begin, symbolised_end),
        cmocka_unit_test_setup_teardown(test_symboliser_ends, symbolised_begin, symbolised_end),
        cmocka_unit_test_setup_teardown(test_hangs, symbolised_begin, symbolised_end),
        cmocka_unit_test_setup_teardown(test_too_many_in_flight, symbolised_begin, symbolised_end),
        cmocka_unit_test_setup_teardown(test_greets_again, symbolised_begin, symbolised_end),
        cmocka_unit_test_setup_teardown(test_privileges, symbolised_begin, symbolised_end),
        cmocka_unit_test(test_unconfined),
    };

    char flag[64];

    name_flag(flag, sizeof(flag), getppid());
    if (argc > 1 && str_equal(argv[1], SYMBOLISER_COMMAND))
        return access(flag, F_OK) == 0 ? greet_again(SYMBOLISER_SOCKET) : symboliser_serve(SYMBOLISER_SOCKET);
    if (runs_emulated()) {
        leave_out("the mappings in /proc are qemu's, and /proc/self/exe, which runs as the symboliser, is qemu");
        return 77;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
