/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses of this program and of this kernel become symbols, by a real symboliser; and what ends, lies or is broken.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "symbols/image.h"
#include "symbols/symboliser/demangle.h"
#include "symbols/symboliser/elf-symbols.h"
#include "symbols/symbols.h"
#include "tests/unit/test.h"

struct fixture {
    struct sys sys;
    sd_event *event;
    struct symbols *symbols;
    int calls;
    char directory[32];
};

static int setup(void **state)
{
    struct fixture *fixture = calloc(1, sizeof(*fixture));

    *state = fixture;
    sys_init(&fixture->sys);
    strcpy(fixture->directory, "/tmp/test-symbols-XXXXXX");
    return !mkdtemp(fixture->directory) || sd_event_new(&fixture->event) < 0 ||
                   symbols_new(&fixture->sys, fixture->event, &fixture->symbols) < 0
               ? -1
               : 0;
}

static int teardown(void **state)
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

static void count(void *userdata)
{
    ((struct fixture *)userdata)->calls++;
}

/* Runs the loop until `calls` or for `seconds`. */
static void run(struct fixture *fixture, int calls, int seconds)
{
    time_t end = time(NULL) + seconds + 1;

    while (fixture->calls < calls && time(NULL) < end)
        assert_true(sd_event_run(fixture->event, 100000) >= 0);
}

static void learn(struct fixture *fixture, uint32_t pid)
{
    fixture->calls = 0;
    assert_int_equal(symbols_scan(fixture->symbols, pid, count, fixture), 0);
    run(fixture, 1, 20);
    assert_int_equal(fixture->calls, 1);
}

static void wait_idle(struct fixture *fixture)
{
    fixture->calls = 0;
    assert_int_equal(symbols_when_idle(fixture->symbols, count, fixture), 0);
    run(fixture, 1, 20);
    assert_int_equal(fixture->calls, 1);
    assert_false(symbols_pending(fixture->symbols));
}

static struct frame resolve(struct fixture *fixture, uint32_t pid, uint64_t ip)
{
    struct frame frame;

    symbols_resolve(fixture->symbols, pid, false, ip, &frame);
    wait_idle(fixture);
    symbols_resolve(fixture->symbols, pid, false, ip, &frame);
    return frame;
}

static bool no_libdw(void)
{
    if (str_equal(elf_symbols_built(), "yes"))
        return false;
    print_message("skipped: perfcountd is built without libdw\n");
    return true;
}

__attribute__((noinline)) static int known_static_function(int x)
{
    __asm__ volatile("" : "+r"(x));
    return x + 1;
}

/* As a compiler of C++ would have named it. */
int known_cpp_function(int x) __asm__("_ZN3app4spinEi");
__attribute__((noinline)) int known_cpp_function(int x)
{
    __asm__ volatile("" : "+r"(x));
    return x + 2;
}

static void test_own_function(void **state)
{
    static const char *const vdso_functions[] = {"__vdso_clock_gettime", "__kernel_clock_gettime"};
    struct fixture *fixture = *state;
    uint32_t pid = (uint32_t)getpid();
    struct frame frame;

    if (no_libdw())
        skip();
    learn(fixture, pid);
    assert_string_equal(symbols_comm(fixture->symbols, pid, pid), "test-symbols");
    symbols_resolve(fixture->symbols, pid, false, (uintptr_t)known_static_function + 1, &frame);
    assert_null(frame.symbol);
    assert_non_null(frame.mapping);
    assert_true(symbols_pending(fixture->symbols));
    frame = resolve(fixture, pid, (uintptr_t)known_static_function + 1);
    assert_string_equal(frame.symbol, "known_static_function");
    assert_int_equal(frame.offset, 1);
    assert_int_equal(frame.ip, (uintptr_t)known_static_function + 1);
    assert_non_null(strstr(frame.mapping->file, "test-symbols"));
    assert_true(frame.mapping->number > 0);
    frame = resolve(fixture, pid, (uintptr_t)known_cpp_function);
    assert_string_equal(frame.symbol, str_equal(demangle_built(), "yes") ? "app::spin" : "_ZN3app4spinEi");
    /* In a library, and in the vdso. */
    frame = resolve(fixture, pid, (uintptr_t)sd_event_new);
    assert_string_equal(frame.symbol, "sd_event_new");
    assert_int_equal(frame.mapping->build_id_size, 20);
    void *vdso = dlopen("linux-vdso.so.1", RTLD_LAZY | RTLD_NOLOAD), *function = NULL;
    for (size_t i = 0; vdso && i < ARRAY_SIZE(vdso_functions) && !function; i++)
        function = dlsym(vdso, vdso_functions[i]);
    frame = resolve(fixture, pid, (uintptr_t)function);
    assert_non_null(frame.symbol);
    assert_non_null(strstr(frame.symbol, "clock_gettime"));
    assert_string_equal(frame.mapping->file, "[vdso]");
    dlclose(vdso);
    assert_null(symbols_reason_user(fixture->symbols));
    /* Small programs keep theirs however little room there is. */
    symbols_set_room(fixture->symbols, 0);
    frame = resolve(fixture, pid, (uintptr_t)known_static_function + 1);
    assert_string_equal(frame.symbol, "known_static_function");
    /* Nothing is there. */
    symbols_resolve(fixture->symbols, pid, false, 1, &frame);
    assert_true(!frame.symbol && !frame.mapping && !frame.kernel);
    symbols_resolve(fixture->symbols, 4000000, false, 1, &frame);
    assert_true(!frame.symbol && !frame.mapping);
}

static void test_kernel(void **state)
{
    struct fixture *fixture = *state;
    unsigned long long address = 0;
    char line[512], name[256], type;
    struct frame frame;

    _cleanup_(fclosep) FILE *file = fopen("/proc/kallsyms", "re");
    while (file && fgets(line, sizeof(line), file))
        if (sscanf(line, "%llx %c %255s", &address, &type, name) == 3 && str_equal(name, "vfs_read"))
            break;
    learn(fixture, (uint32_t)getpid());
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
    assert_string_equal(frame.symbol, "vfs_read");
    assert_int_equal(frame.offset, 1);
    assert_null(symbols_reason_kernel(fixture->symbols));
    symbols_resolve(fixture->symbols, 1, true, 0x1000, &frame);
    assert_null(frame.symbol);
    /* A BPF program comes and goes. */
    struct record record = {.type = PERF_RECORD_KSYMBOL,
                            .ksymbol = {.address = 0x1000, .length = 16, .name = "bpf_prog_x"}};
    symbols_update(fixture->symbols, &record);
    symbols_resolve(fixture->symbols, 1, true, 0x100f, &frame);
    assert_string_equal(frame.symbol, "bpf_prog_x");
    symbols_resolve(fixture->symbols, 1, true, 0x1010, &frame);
    assert_null(frame.symbol);
    record.ksymbol.flags = PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER;
    symbols_update(fixture->symbols, &record);
    symbols_resolve(fixture->symbols, 1, true, 0x100f, &frame);
    assert_null(frame.symbol);
}

static void write_file(const struct fixture *fixture, const char *name, const char *bytes, size_t size, char *path)
{
    sprintf(path, "%s/%s", fixture->directory, name);
    _cleanup_(closep) int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0700);
    assert_int_equal(write(fd, bytes, size), size);
}

/* As a record says it: the file is mapped from its begin at 0x10000. */
static struct frame resolve_file(struct fixture *fixture, uint32_t pid, const char *path, uint64_t ip)
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
    return resolve(fixture, pid, ip);
}

static char *good_program(size_t *ret_size)
{
    char *bytes;

    assert_int_equal(file_read(AT_FDCWD, "/usr/bin/true", 64 << 20, &bytes, ret_size), 0);
    return bytes;
}

/* Whatever is in a file, this process lives; and the next good file is read. */
static void test_corrupt_files(void **state)
{
    struct fixture *fixture = *state;
    _cleanup_(freep) char *bytes = NULL, *copy = NULL;
    size_t size;
    char path[128], name[32];
    unsigned random = 1;

    if (no_libdw())
        skip();
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
    learn(fixture, (uint32_t)getpid());
    struct frame frame = resolve(fixture, (uint32_t)getpid(), (uintptr_t)known_static_function);
    assert_string_equal(frame.symbol, "known_static_function");
}

/* Its end costs the file that it had in hand, and nothing else. */
static void test_symboliser_ends(void **state)
{
    struct fixture *fixture = *state;
    uint32_t pid = (uint32_t)getpid();
    struct frame frame;

    if (no_libdw())
        skip();
    learn(fixture, pid);
    pid_t child = symbols_symboliser_pid(fixture->symbols);
    assert_true(child > 0);
    assert_int_equal(kill(child, SIGSTOP), 0);
    symbols_resolve(fixture->symbols, pid, false, (uintptr_t)known_static_function, &frame);
    symbols_resolve(fixture->symbols, pid, false, (uintptr_t)sd_event_new, &frame);
    assert_true(symbols_pending(fixture->symbols));
    assert_int_equal(kill(child, SIGKILL), 0);
    frame = resolve(fixture, pid, (uintptr_t)sd_event_new);
    assert_string_equal(frame.symbol, "sd_event_new");
    assert_true(symbols_symboliser_pid(fixture->symbols) != child);
    frame = resolve(fixture, pid, (uintptr_t)known_static_function);
    assert_null(frame.symbol); /* the file that it ended over */
    /* A caller that has left is not called. */
    fixture->calls = 0;
    assert_int_equal(symbols_scan(fixture->symbols, pid, count, fixture), 0);
    symbols_cancel(fixture->symbols, fixture);
    run(fixture, 1, 1);
    assert_int_equal(fixture->calls, 0);
}

/* It makes no end of a file. */
static void test_hangs(void **state)
{
    struct fixture *fixture = *state;
    uint32_t pid = (uint32_t)getpid();
    struct frame frame;

    if (no_libdw())
        skip();
    learn(fixture, pid);
    pid_t child = symbols_symboliser_pid(fixture->symbols);
    assert_int_equal(kill(child, SIGSTOP), 0);
    time_t start = time(NULL);
    frame = resolve(fixture, pid, (uintptr_t)known_static_function);
    assert_null(frame.symbol);
    assert_in_range(time(NULL) - start, 4, 9);
    assert_int_equal(kill(child, 0), -1);
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
    struct fixture *fixture = *state;
    _cleanup_(freep) char *status = NULL;

    learn(fixture, (uint32_t)getpid());
    assert_int_equal(
        sys_read_filef(&fixture->sys, &status, "/proc/%d/status", symbols_symboliser_pid(fixture->symbols)), 0);
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
    snprintf(path, sizeof(path), "/proc/%d/mem", symbols_symboliser_pid(fixture->symbols));
    assert_int_equal(stat(path, &memory), 0);
    assert_int_equal(memory.st_uid, 0); /* who is not dumpable belongs to root */
}

/* Where it would stay root it reads nothing, and that is said. */
static int be_unconfined(void)
{
    struct fixture fixture = {0};

    if (prctl(PR_CAPBSET_DROP, CAP_SETUID, 0, 0, 0) < 0)
        return 1;
    sys_init(&fixture.sys);
    if (sd_event_new(&fixture.event) < 0 || symbols_new(&fixture.sys, fixture.event, &fixture.symbols) < 0)
        return 2;
    learn(&fixture, (uint32_t)getpid());
    const char *reason = symbols_reason_user(fixture.symbols);
    bool runs = symbols_symboliser_pid(fixture.symbols) != 0;
    symbols_free(fixture.symbols);
    sd_event_unref(fixture.event);
    return runs || !reason || !strstr(reason, "start perfcountd as another user");
}

static void test_unconfined(void **state)
{
    int status;

    (void)state;
    if (geteuid() != 0) {
        print_message("skipped: only root has something to keep\n");
        skip();
    }
    pid_t child = fork();
    if (child == 0)
        _exit(be_unconfined());
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

/* The process has gone when its file is asked for; the file is deleted, or another. */
static void test_gone(void **state)
{
    struct fixture *fixture = *state;
    uint32_t pid = (uint32_t)getpid();
    struct stat status;
    struct frame frame;
    char path[128];

    if (no_libdw())
        skip();
    assert_int_equal(stat("/proc/self/exe", &status), 0);
    ssize_t size = readlink("/proc/self/exe", path, sizeof(path) - 1);
    path[size] = '\0';
    learn(fixture, pid);
    symbols_resolve(fixture->symbols, pid, false, (uintptr_t)known_static_function, &frame);
    struct record record = {.type = PERF_RECORD_MMAP2,
                            .mmap = {.pid = 4000000,
                                     .tid = 4000000,
                                     .address = frame.mapping->start,
                                     .length = frame.mapping->end - frame.mapping->start,
                                     .offset = frame.mapping->offset,
                                     .inode = status.st_ino,
                                     .protection = PROT_EXEC,
                                     .file = path}};
    symbols_update(fixture->symbols, &record);
    frame = resolve(fixture, 4000000, (uintptr_t)known_static_function); /* by the path alone */
    assert_string_equal(frame.symbol, "known_static_function");
    record.mmap.inode++;
    symbols_update(fixture->symbols, &record);
    frame = resolve(fixture, 4000000, (uintptr_t)known_static_function);
    assert_true(frame.mapping && !frame.symbol); /* another file is there now */
    record.mmap.inode = 0;
    record.mmap.build_id_size = 20;
    symbols_update(fixture->symbols, &record);
    frame = resolve(fixture, 4000000, (uintptr_t)known_static_function);
    assert_true(frame.mapping && !frame.symbol); /* it has another build id */
    record.mmap.file = "/nowhere";
    symbols_update(fixture->symbols, &record);
    frame = resolve(fixture, 4000000, (uintptr_t)known_static_function);
    assert_true(frame.mapping && !frame.symbol);
    record.mmap.file = "/dev/zero";
    record.mmap.build_id_size = 0;
    symbols_update(fixture->symbols, &record);
    frame = resolve(fixture, 4000000, (uintptr_t)known_static_function);
    assert_true(frame.mapping && !frame.symbol);
}

/* A mapping that is kept stays known, whatever its process does. */
static void test_kept(void **state)
{
    struct fixture *fixture = *state;
    uint32_t pid = (uint32_t)getpid();
    struct symbols_kept kept;
    struct record record = {.type = PERF_RECORD_COMM,
                            .misc = PERF_RECORD_MISC_COMM_EXEC,
                            .comm = {.pid = pid, .tid = pid, .comm = "another"}};
    struct frame frame;

    if (no_libdw())
        skip();
    learn(fixture, pid);
    symbols_resolve(fixture->symbols, pid, false, (uintptr_t)known_static_function, &frame);
    assert_non_null(frame.mapping->image);
    assert_null(frame.symbol);
    symbols_keep(&frame, pid, &kept);
    symbols_update(fixture->symbols, &record);
    wait_idle(fixture);
    symbols_resolve(fixture->symbols, pid, false, (uintptr_t)known_static_function, &frame);
    assert_null(frame.mapping);
    symbols_resolve_kept(fixture->symbols, &kept, (uintptr_t)known_static_function + 2, &frame);
    assert_string_equal(frame.symbol, "known_static_function");
    assert_int_equal(frame.offset, 2);
    assert_ptr_equal(frame.mapping, &kept.mapping);
    assert_non_null(strstr(kept.mapping.file, "test-symbols"));
    symbols_release(&kept);
    /* The kernel's, as well. */
    symbols_resolve(fixture->symbols, pid, true, UINT64_MAX - 1, &frame);
    symbols_keep(&frame, pid, &kept);
    symbols_resolve_kept(fixture->symbols, &kept, UINT64_MAX - 2, &frame);
    assert_true(frame.kernel && kept.kernel);
    assert_string_equal(frame.mapping->file, "[kernel.kallsyms]");
    symbols_release(&kept);
}

static uintptr_t start_of_sleep(pid_t pid)
{
    char path[64], line[512];
    unsigned long long start = 0;
    char protection[8];

    snprintf(path, sizeof(path), "/proc/%d/maps", pid);
    _cleanup_(fclosep) FILE *file = fopen(path, "re");
    while (file && fgets(line, sizeof(line), file))
        if (sscanf(line, "%llx-%*x %7s", &start, protection) == 2 && protection[2] == 'x' && strstr(line, "libc"))
            return start;
    return 0;
}

/* The file of a process that runs was deleted: the kernel still has it. */
static void test_deleted(void **state)
{
    struct fixture *fixture = *state;
    char path[128], command[256];

    if (no_libdw())
        skip();
    if (geteuid() != 0) {
        print_message("skipped: only root sees /proc/PID/map_files\n");
        skip();
    }
    sprintf(path, "%s/libc.so.6", fixture->directory);
    snprintf(command, sizeof(command), "cp -L $(ldd /bin/sleep | awk '/libc.so/ {print $3}') %s", path);
    assert_int_equal(system(command), 0);
    pid_t pid = fork();
    if (pid == 0) {
        setenv("LD_LIBRARY_PATH", fixture->directory, 1);
        execl("/bin/sleep", "sleep", "60", NULL);
        _exit(127);
    }
    uintptr_t start = 0;
    for (int i = 0; i < 100 && !start; i++) {
        usleep(20000);
        start = start_of_sleep(pid);
    }
    usleep(100000);
    assert_int_equal(unlink(path), 0);
    learn(fixture, (uint32_t)pid);
    bool found = false;
    for (uintptr_t at = start; at < start + 0x40000 && !found; at += 0x1000)
        found = resolve(fixture, (uint32_t)pid, at).symbol;
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    assert_true(start && found);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_own_function, setup, teardown),
        cmocka_unit_test_setup_teardown(test_kernel, setup, teardown),
        cmocka_unit_test_setup_teardown(test_corrupt_files, setup, teardown),
        cmocka_unit_test_setup_teardown(test_symboliser_ends, setup, teardown),
        cmocka_unit_test_setup_teardown(test_hangs, setup, teardown),
        cmocka_unit_test_setup_teardown(test_privileges, setup, teardown),
        cmocka_unit_test(test_unconfined),
        cmocka_unit_test_setup_teardown(test_gone, setup, teardown),
        cmocka_unit_test_setup_teardown(test_deleted, setup, teardown),
        cmocka_unit_test_setup_teardown(test_kept, setup, teardown),
    };

    if (argc > 1 && str_equal(argv[1], SYMBOLISER_COMMAND))
        return symboliser_serve(SYMBOLISER_SOCKET);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
