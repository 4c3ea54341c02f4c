/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A real symboliser resolves addresses of this program and of this kernel. The tests also cover how the symboliser's
 * process ends, and its privileges.
 */
#include <dlfcn.h>
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
#include "process/fdpass.h"
#include "symbols/elf.h"
#include "symbols/symboliser.h"
#include "symbols/symbols.h"
#include "tests/unit/test.h"
#include "tests/unit/wrap-calls.h"

/* State of a test. */
struct fixture {
    struct sys sys;
    sd_event *event;
    struct symbols *symbols;
    struct child child; /* the symboliser */
    int calls;          /* number of calls of count_call() */
    char directory[32];
};

/* A clock that the test can advance. */
static uint64_t skew_ns;
static struct sys_calls real;

static uint64_t now_skewed(struct sys *sys, clockid_t clock)
{
    return real.now(sys, clock) + skew_ns;
}

/* Runs the event loop until a condition is true. The test fails after a minute. */
#define until(fixture, condition)                                                                                      \
    for (time_t limit_ = time(NULL) + 60; !(condition);) {                                                             \
        if (time(NULL) > limit_)                                                                                       \
            fail_msg("not true within a minute: %s", #condition);                                                      \
        assert_true(sd_event_run((fixture)->event, 100000) >= 0);                                                      \
    }

static int begin(void **state)
{
    struct fixture *fixture = calloc(1, sizeof(*fixture));

    *state = fixture;
    sys_init(&fixture->sys);
    real = wrap_calls(&fixture->sys, (struct sys_calls){.now = now_skewed});
    strcpy(fixture->directory, "/tmp/test-symbols-XXXXXX");
    fixture->child = CHILD_NONE;
    if (!mkdtemp(fixture->directory) || sd_event_new(&fixture->event) < 0 ||
        symbols_new(&fixture->sys, fixture->event, &fixture->symbols) < 0)
        return -1;
    symbols_set_child(fixture->symbols, &fixture->child);
    return 0;
}

static int end(void **state)
{
    struct fixture *fixture = *state;
    char command[64];

    symbols_free(fixture->symbols);
    sd_event_unref(fixture->event);
    snprintf(command, sizeof(command), "rm -rf %s", fixture->directory);
    int r = system(command);
    free(fixture);
    return r;
}

static void count_call(void *userdata)
{
    ((struct fixture *)userdata)->calls++;
}

static uint32_t own_pid(void)
{
    return (uint32_t)getpid();
}

/* Makes the symboliser read the mappings of this process. */
static void scan(struct fixture *fixture)
{
    fixture->calls = 0;
    assert_int_equal(symbols_scan(fixture->symbols, own_pid(), count_call, fixture), 0);
    until(fixture, fixture->calls > 0);
    assert_int_equal(fixture->calls, 1);
}

static void wait_until_idle(struct fixture *fixture)
{
    fixture->calls = 0;
    assert_int_equal(symbols_when_idle(fixture->symbols, count_call, fixture), 0);
    until(fixture, fixture->calls > 0);
    assert_int_equal(fixture->calls, 1);
    assert_false(symbols_pending(fixture->symbols));
}

/* Resolves an address with the symbols that are loaded so far. */
static struct frame look(const struct fixture *fixture, uint32_t pid, uint64_t ip)
{
    struct frame frame;

    symbols_resolve(fixture->symbols, pid, false, ip, &frame);
    return frame;
}

/* Resolves an address twice, and waits in between for the symbols that the first call requests. */
static struct frame resolve(struct fixture *fixture, uint32_t pid, uint64_t ip)
{
    look(fixture, pid, ip);
    wait_until_idle(fixture);
    return look(fixture, pid, ip);
}

/* Resolves an address of this process that has a symbol. On a busy machine the symboliser may need several attempts. */
static struct frame resolve_named(struct fixture *fixture, uint64_t ip)
{
    struct frame frame = resolve(fixture, own_pid(), ip);

    until(fixture, frame.symbol || (skew_ns += 10 * NSEC_PER_SEC, frame = resolve(fixture, own_pid(), ip)).symbol);
    return frame;
}

/* Scans /proc for a test that needs libdw, or skips the test. */
static void scan_with_libdw(struct fixture *fixture)
{
    if (!str_equal(elf_symbols_built(), "yes"))
        skip_because("perfcountd is built without libdw");
    scan(fixture);
}

__attribute__((noinline)) static int known_static_function(int x)
{
    __asm__ volatile("" : "+r"(x));
    return x + 1;
}

/* The name that a C++ compiler would generate. */
int known_cpp_function(int x) __asm__("_ZN3app4spinEi");
__attribute__((noinline)) int known_cpp_function(int x)
{
    __asm__ volatile("" : "+r"(x));
    return x + 2;
}

/* Pid 0 is either the idle task, which never runs in user space, or a task in another pid namespace. */
TEST_WITH(test_comm_of_pid_0, begin, end)
{
    struct fixture *fixture = *state;
    static const uint64_t kernel[] = {PERF_CONTEXT_KERNEL, 0xffffffff81000000},
                          called[] = {PERF_CONTEXT_KERNEL, 0xffffffff81000000, PERF_CONTEXT_USER, 0x1000};
    const struct {
        struct record in;
        const char *out;
    } cases[] = {
        {{.misc = PERF_RECORD_MISC_KERNEL}, "swapper"},
        {{.misc = PERF_RECORD_MISC_KERNEL, .sample = {.callchain = kernel, .n_callchain = 2}}, "swapper"},
        {{.misc = PERF_RECORD_MISC_KERNEL, .sample = {.callchain = called, .n_callchain = 4}},
         "[outside this pid namespace]"},
        {{.misc = PERF_RECORD_MISC_USER}, "[outside this pid namespace]"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        assert_string_equal(symbols_comm(fixture->symbols, &cases[i].in), cases[i].out);
}

TEST_WITH(test_own_function, begin, end)
{
    struct fixture *fixture = *state;
    struct frame frame;

    scan_with_libdw(fixture);
    const struct record own = {.id = {.pid = own_pid(), .tid = own_pid()}};
    assert_string_equal(symbols_comm(fixture->symbols, &own), "test-symbols");
    frame = look(fixture, own_pid(), (uintptr_t)known_static_function + 1);
    assert_null(frame.symbol);
    assert_non_null(frame.mapping);
    assert_true(symbols_pending(fixture->symbols));
    assert_true(frame.awaited);
    frame = resolve_named(fixture, (uintptr_t)known_static_function + 1);
    assert_string_equal(frame.symbol, "known_static_function");
    assert_false(frame.awaited);
    assert_int_equal(frame.offset, 1);
    assert_int_equal(frame.ip, (uintptr_t)known_static_function + 1);
    assert_non_null(strstr(frame.mapping->file, "test-symbols"));
    assert_true(frame.mapping->number > 0);
    frame = resolve_named(fixture, (uintptr_t)known_cpp_function);
    assert_string_equal(frame.symbol, str_equal(demangle_built(), "yes") ? "app::spin" : "_ZN3app4spinEi");
    assert_null(symbols_reason_user(fixture->symbols));
    /* Small programs keep their symbols, however little memory is allowed. */
    symbols_set_room(fixture->symbols, 0);
    frame = resolve_named(fixture, (uintptr_t)known_static_function + 1);
    assert_string_equal(frame.symbol, "known_static_function");
    /* Nothing is mapped at these addresses. */
    frame = look(fixture, own_pid(), 1);
    assert_true(!frame.symbol && !frame.mapping && !frame.kernel && !frame.awaited);
    frame = look(fixture, 4000000, 1);
    assert_true(!frame.symbol && !frame.mapping);
}

/* Resolves functions of a library and of the vdso. */
TEST_WITH(test_library, begin, end)
{
    static const char *const vdso_functions[] = {"__vdso_clock_gettime", "__kernel_clock_gettime"};
    struct fixture *fixture = *state;

    scan_with_libdw(fixture);
    struct frame frame = resolve_named(fixture, (uintptr_t)sd_event_new);
    assert_string_equal(frame.symbol, "sd_event_new");
    assert_int_equal(frame.mapping->build_id_size, 20);
    void *vdso = dlopen("linux-vdso.so.1", RTLD_LAZY | RTLD_NOLOAD), *function = NULL;
    for (size_t i = 0; vdso && i < ARRAY_SIZE(vdso_functions) && !function; i++)
        function = dlsym(vdso, vdso_functions[i]);
    frame = resolve_named(fixture, (uintptr_t)function);
    assert_non_null(frame.symbol);
    assert_non_null(strstr(frame.symbol, "clock_gettime"));
    assert_string_equal(frame.mapping->file, "[vdso]");
    dlclose(vdso);
}

TEST_WITH(test_kernel, begin, end)
{
    struct fixture *fixture = *state;
    unsigned long long address = 0;
    char line[512], name[256], type;
    struct frame frame;

    _cleanup_(fclosep) FILE *file = fopen("/proc/kallsyms", "re");
    while (file && fgets(line, sizeof(line), file))
        if (sscanf(line, "%llx %c %255s", &address, &type, name) == 3 && str_equal(name, "vfs_read"))
            break;
    scan(fixture);
    assert_false(symbols_pending(fixture->symbols) && fixture->calls == 0);
    symbols_resolve(fixture->symbols, 1, true, address + 1, &frame);
    assert_true(frame.kernel);
    assert_string_equal(frame.mapping->file, "[kernel.kallsyms]");
    if (address == 0) {
        print_message("the kernel hides its addresses here\n");
        assert_non_null(symbols_reason_kernel(fixture->symbols));
        assert_null(frame.symbol);
        return;
    }
    until(fixture, frame.symbol || (skew_ns += 10 * NSEC_PER_SEC, scan(fixture),
                                    symbols_resolve(fixture->symbols, 1, true, address + 1, &frame), frame.symbol));
    assert_string_equal(frame.symbol, "vfs_read");
    assert_int_equal(frame.offset, 1);
    assert_null(symbols_reason_kernel(fixture->symbols));
    /* A BPF program is loaded and unloaded. */
    struct record record = {.type = PERF_RECORD_KSYMBOL,
                            .ksymbol = {.address = 0x1000, .length = 16, .name = "bpf_prog_x"}};
    for (unsigned round = 0; round < 3; round++) {
        symbols_resolve(fixture->symbols, 1, true, 0x100f, &frame);
        assert_true(round == 1 ? frame.symbol && str_equal(frame.symbol, "bpf_prog_x") : !frame.symbol);
        symbols_resolve(fixture->symbols, 1, true, 0x1010, &frame);
        assert_null(frame.symbol);
        record.ksymbol.flags = round ? PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER : 0;
        symbols_update(fixture->symbols, &record);
    }
}

/* Returns the record of an exited process that had another file at the addresses of this mapping. */
static struct record map_again(const struct mapping *mapping, const char *file)
{
    return (struct record){.type = PERF_RECORD_MMAP2,
                           .mmap = {.pid = 4000000,
                                    .tid = 4000000,
                                    .address = mapping->start,
                                    .length = mapping->end - mapping->start,
                                    .offset = mapping->offset,
                                    .protection = PROT_EXEC,
                                    .file = file}};
}

/*
 * The process has exited before its file is opened, and its path leads to the same file, to another file, or to none.
 */
TEST_WITH(test_gone, begin, end)
{
    struct fixture *fixture = *state;
    struct stat status;
    struct frame frame;
    char path[128];

    scan_with_libdw(fixture);
    assert_int_equal(stat("/proc/self/exe", &status), 0);
    ssize_t size = readlink("/proc/self/exe", path, sizeof(path) - 1);
    path[size] = '\0';
    frame = look(fixture, own_pid(), (uintptr_t)known_static_function);
    struct record record = map_again(frame.mapping, NULL);
    const struct {
        const char *file;
        uint64_t inode;
        uint8_t build_id_size;
        const char *out;
    } cases[] = {
        {path, status.st_ino, 0, "known_static_function"}, /* the path still leads to the same file */
        {path, status.st_ino + 1, 0, NULL},                /* another inode: the file was replaced */
        {path, 0, 20, NULL},                               /* another build id: the file was replaced */
        {"/nowhere", 0, 20, NULL},
        {"/dev/zero", 0, 0, NULL},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        record.mmap.file = cases[i].file;
        record.mmap.inode = cases[i].inode;
        record.mmap.build_id_size = cases[i].build_id_size;
        symbols_update(fixture->symbols, &record);
        frame = resolve(fixture, record.mmap.pid, (uintptr_t)known_static_function);
        assert_non_null(frame.mapping);
        assert_true(cases[i].out ? frame.symbol && str_equal(frame.symbol, cases[i].out) : !frame.symbol);
    }
}

/* The symbols of a stripped file come from its separate debug file, which must have the same build id. */
TEST_WITH(test_debug_file, begin, end)
{
    static const struct {
        const char *in_command; /* makes the debug file; $0 is this program, $1 the debug file */
        const char *out;
    } cases[] = {
        {"true", NULL},
        {"objcopy --only-keep-debug $0 $1", "known_static_function"},
        {"objcopy --only-keep-debug --remove-section=.note.gnu.build-id $0 $1", NULL},
        {"head -c 1000 $0 >$1", NULL},
    };
    struct fixture *fixture = *state;
    char own[PATH_MAX], path[64], id[2 * BUILD_ID_MAX + 1] = "", command[2 * PATH_MAX];
    struct stat status;

    if (runs_emulated())
        skip_because("binutils for this program");
    scan_with_libdw(fixture);
    struct frame frame = resolve_named(fixture, (uintptr_t)known_static_function);
    for (size_t i = 0; i < frame.mapping->build_id_size; i++)
        snprintf(id + 2 * i, 3, "%02x", frame.mapping->build_id[i]);
    struct record record = map_again(frame.mapping, path);
    ssize_t size = readlink("/proc/self/exe", own, sizeof(own) - 1);
    assert_true(size > 0);
    own[size] = '\0';
    fixture->sys.root = fixture->directory;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        snprintf(path, sizeof(path), "%s/stripped-%zu", fixture->directory, i);
        snprintf(command, sizeof(command),
                 "cd %s && rm -rf usr && mkdir -p usr/lib/debug/.build-id/%.2s && strip -o %s '%s' && "
                 "sh -c '%s' '%s' usr/lib/debug/.build-id/%.2s/%s.debug",
                 fixture->directory, id, path, own, cases[i].in_command, own, id, id + 2);
        assert_int_equal(system(command), 0);
        assert_int_equal(stat(path, &status), 0);
        record.mmap.inode = status.st_ino;
        symbols_update(fixture->symbols, &record);
        frame = resolve(fixture, record.mmap.pid, (uintptr_t)known_static_function);
        until(fixture, frame.symbol || !cases[i].out ||
                           (skew_ns += 10 * NSEC_PER_SEC, wait_until_idle(fixture),
                            frame = look(fixture, record.mmap.pid, (uintptr_t)known_static_function))
                               .symbol);
        if (frame.awaited || (cases[i].out ? !str_equal(frame.symbol, cases[i].out) : !!frame.symbol))
            fail_msg("case %zu: %s", i, frame.symbol ? frame.symbol : "no name");
    }
    fixture->sys.root = "";
}

/* A mapping that is kept with symbols_keep() can still be resolved, whatever its process does. */
TEST_WITH(test_kept, begin, end)
{
    struct fixture *fixture = *state;
    struct symbols_kept kept;
    struct record record = {.type = PERF_RECORD_COMM,
                            .misc = PERF_RECORD_MISC_COMM_EXEC,
                            .comm = {.pid = own_pid(), .tid = own_pid(), .comm = "another"}};
    struct frame frame;

    scan_with_libdw(fixture);
    frame = look(fixture, own_pid(), (uintptr_t)known_static_function);
    assert_non_null(frame.mapping->dso);
    assert_null(frame.symbol);
    symbols_keep(&frame, own_pid(), &kept);
    symbols_update(fixture->symbols, &record);
    wait_until_idle(fixture);
    frame = look(fixture, own_pid(), (uintptr_t)known_static_function);
    assert_null(frame.mapping);
    symbols_resolve_kept(fixture->symbols, &kept, (uintptr_t)known_static_function + 2, &frame);
    until(fixture,
          frame.symbol || (skew_ns += 10 * NSEC_PER_SEC, wait_until_idle(fixture),
                           symbols_resolve_kept(fixture->symbols, &kept, (uintptr_t)known_static_function + 2, &frame),
                           frame.symbol));
    assert_string_equal(frame.symbol, "known_static_function");
    assert_int_equal(frame.offset, 2);
    assert_ptr_equal(frame.mapping, &kept.mapping);
    assert_non_null(strstr(kept.mapping.file, "test-symbols"));
    symbols_release(&kept);
    /* A mapping of the kernel that is kept can be resolved, too. */
    symbols_resolve(fixture->symbols, own_pid(), true, UINT64_MAX - 1, &frame);
    symbols_keep(&frame, own_pid(), &kept);
    symbols_resolve_kept(fixture->symbols, &kept, UINT64_MAX - 2, &frame);
    assert_true(frame.kernel && kept.kernel);
    assert_string_equal(frame.mapping->file, "[kernel.kallsyms]");
    symbols_release(&kept);
}

static void write_file(const struct fixture *fixture, const char *name, const char *bytes, size_t size, char *path)
{
    sprintf(path, "%s/%s", fixture->directory, name);
    _cleanup_(closep) int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0700);
    assert_int_equal(write(fd, bytes, size), size);
}

/* The mapped file has been deleted, but can still be read through /proc. */
TEST_WITH(test_deleted, begin, end)
{
    struct fixture *fixture = *state;
    _cleanup_(freep) char *bytes = NULL;
    struct frame frame;
    char path[128];
    size_t size;

    scan_with_libdw(fixture);
    if (geteuid() != 0)
        skip_because("root, to see /proc/PID/map_files");
    assert_int_equal(file_read(AT_FDCWD, "/proc/self/exe", 256 << 20, &bytes, &size), 0);
    write_file(fixture, "program", bytes, size, path);
    _cleanup_(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
    char *copy = mmap(NULL, size, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
    assert_ptr_not_equal(copy, MAP_FAILED);
    assert_int_equal(unlink(path), 0);
    scan(fixture);
    frame = look(fixture, own_pid(), (uintptr_t)known_static_function);
    uint64_t offset = (uintptr_t)known_static_function - frame.mapping->start + frame.mapping->offset;
    frame = resolve_named(fixture, (uintptr_t)copy + offset);
    assert_string_equal(frame.mapping->file, path);
    assert_string_equal(frame.symbol, "known_static_function");
    munmap(copy, size);
}

/* If the symboliser exits, only the file that it was reading is left without symbols. */
TEST_WITH(test_symboliser_ends, begin, end)
{
    struct fixture *fixture = *state;
    struct frame frame;

    scan_with_libdw(fixture);
    pid_t child = fixture->child.pid;
    assert_true(child > 0);
    assert_int_equal(kill(child, SIGSTOP), 0);
    frame = look(fixture, own_pid(), (uintptr_t)known_static_function);
    frame = look(fixture, own_pid(), (uintptr_t)sd_event_new);
    assert_true(symbols_pending(fixture->symbols));
    assert_int_equal(kill(child, SIGKILL), 0);
    frame = resolve(fixture, own_pid(), (uintptr_t)known_static_function);
    assert_null(frame.symbol); /* the symboliser was reading this file */
    frame = resolve_named(fixture, (uintptr_t)sd_event_new);
    assert_string_equal(frame.symbol, "sd_event_new");
    assert_true(fixture->child.pid != child);
    /* If a caller has cancelled its request, its callback is not called. */
    assert_int_equal(symbols_scan(fixture->symbols, own_pid(), count_call, fixture), 0);
    symbols_cancel(fixture->symbols, fixture);
    scan(fixture); /* the new request is answered once */
}

/* A symboliser that hangs while it reads a file is killed. */
TEST_WITH(test_hangs, begin, end)
{
    struct fixture *fixture = *state;

    scan_with_libdw(fixture);
    pid_t child = fixture->child.pid;
    assert_int_equal(kill(child, SIGSTOP), 0);
    struct frame frame = resolve(fixture, own_pid(), (uintptr_t)known_static_function);
    assert_null(frame.symbol);
    until(fixture, kill(child, 0) < 0);
}

/* Starts a process of the symboliser's user that has many descriptors in flight. The caller must end the process. */
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

/*
 * The limit on descriptors in flight applies to all processes of a user. A symbol table that exceeds the limit is sent
 * once there is room, and is not lost.
 */
TEST_WITH(test_too_many_in_flight, begin, end)
{
    struct fixture *fixture = *state;

    scan_with_libdw(fixture);
    pid_t child = fixture->child.pid, flood = start_flood();
    struct frame frame = resolve(fixture, own_pid(), (uintptr_t)known_static_function);
    const char *reason = symbols_reason_user(fixture->symbols);
    bool said = reason && strstr(reason, "perfcountd will retry");
    kill(flood, SIGKILL);
    assert_int_equal(waitpid(flood, NULL, 0), flood);
    assert_null(frame.symbol);
    assert_true(said);
    /* Other processes of this user may also have descriptors in flight. */
    frame = resolve_named(fixture, (uintptr_t)known_static_function);
    assert_string_equal(frame.symbol, "known_static_function");
    assert_int_equal(fixture->child.pid, child);
}

/* While this file exists, the symbolisers of a test repeat their hello message. */
static void name_flag(char *path, size_t size, pid_t test)
{
    snprintf(path, size, "/tmp/test-symbols-greets-%d", (int)test);
}

static int greet_again(int socket)
{
    const struct symboliser_answer hello = {.magic = SYMBOLISER_MAGIC, .result = SYMBOLISER_HELLO};
    int stat = open("/proc/self/stat", O_RDONLY | O_CLOEXEC), other = open("/proc/version", O_RDONLY | O_CLOEXEC);

    fd_socket_send_one(socket, &hello, sizeof(hello), stat);
    fd_socket_send_one(socket, &hello, sizeof(hello), other);
    return pause();
}

/* A compromised symboliser cannot report false costs: only its first message does so, before it has read any file. */
TEST_WITH(test_greets_again, begin, end)
{
    struct fixture *fixture = *state;
    char flag[64];

    name_flag(flag, sizeof(flag), getpid());
    _cleanup_(fclosep) FILE *file = fopen(flag, "we");
    assert_non_null(file);
    scan(fixture);
    struct frame frame = resolve(fixture, own_pid(), (uintptr_t)known_static_function);
    unlink(flag);
    assert_null(frame.symbol);
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

/* The symboliser, which reads untrusted files, has no privileges. */
TEST_WITH(test_privileges, begin, end)
{
    struct fixture *fixture = *state;
    _cleanup_(freep) char *status = NULL;

    scan(fixture);
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

/* A symboliser that cannot give up root privileges reads no file, and the reason is reported. */
static int be_unconfined(void)
{
    struct fixture fixture = {0};

    if (prctl(PR_CAPBSET_DROP, CAP_SETUID, 0, 0, 0) < 0)
        return 1;
    sys_init(&fixture.sys);
    if (sd_event_new(&fixture.event) < 0 || symbols_new(&fixture.sys, fixture.event, &fixture.symbols) < 0)
        return 2;
    fixture.child = CHILD_NONE;
    symbols_set_child(fixture.symbols, &fixture.child);
    scan(&fixture);
    const char *reason = symbols_reason_user(fixture.symbols);
    bool runs = fixture.child.pid != 0;
    symbols_free(fixture.symbols);
    sd_event_unref(fixture.event);
    return runs || !reason || !strstr(reason, "start perfcountd as another user");
}

TEST(test_unconfined)
{
    int status;

    if (geteuid() != 0)
        skip_because("root, to keep privileges");
    pid_t child = fork();
    if (child == 0)
        _exit(be_unconfined());
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

int main(int argc, char **argv)
{
    char flag[64];

    name_flag(flag, sizeof(flag), getppid());
    if (argc > 1 && str_equal(argv[1], SYMBOLISER_COMMAND))
        return access(flag, F_OK) == 0 ? greet_again(SYMBOLISER_SOCKET) : symboliser_serve();
    if (runs_emulated()) {
        leave_out("a program's own mappings under qemu");
        return 77;
    }
    return run_all_tests("tests", NULL, NULL);
}
