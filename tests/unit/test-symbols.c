/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses of this program and of this kernel become symbols, by a real symboliser. */
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "symbols/symboliser/demangle.h"
#include "symbols/symboliser/symboliser.h"
#include "tests/unit/symbolised.h"
#include "tests/unit/test.h"

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
    struct symbolised *fixture = *state;
    uint32_t pid = (uint32_t)getpid();
    struct frame frame;

    symbolised_need_libdw();
    symbolised_scan(fixture, pid);
    assert_string_equal(symbols_comm(fixture->symbols, pid, pid), "test-symbols");
    symbols_resolve(fixture->symbols, pid, false, (uintptr_t)known_static_function + 1, &frame);
    assert_null(frame.symbol);
    assert_non_null(frame.mapping);
    assert_true(symbols_pending(fixture->symbols));
    assert_true(frame.awaited);
    frame = symbolised_resolve(fixture, pid, (uintptr_t)known_static_function + 1);
    assert_string_equal(frame.symbol, "known_static_function");
    assert_false(frame.awaited);
    assert_int_equal(frame.offset, 1);
    assert_int_equal(frame.ip, (uintptr_t)known_static_function + 1);
    assert_non_null(strstr(frame.mapping->file, "test-symbols"));
    assert_true(frame.mapping->number > 0);
    frame = symbolised_resolve(fixture, pid, (uintptr_t)known_cpp_function);
    assert_string_equal(frame.symbol, str_equal(demangle_built(), "yes") ? "app::spin" : "_ZN3app4spinEi");
    assert_null(symbols_reason_user(fixture->symbols));
    /* Small programs keep theirs however little room there is. */
    symbols_set_room(fixture->symbols, 0);
    frame = symbolised_resolve(fixture, pid, (uintptr_t)known_static_function + 1);
    assert_string_equal(frame.symbol, "known_static_function");
    /* Nothing is there. */
    symbols_resolve(fixture->symbols, pid, false, 1, &frame);
    assert_true(!frame.symbol && !frame.mapping && !frame.kernel && !frame.awaited);
    symbols_resolve(fixture->symbols, 4000000, false, 1, &frame);
    assert_true(!frame.symbol && !frame.mapping);
}

/* Functions of a library, and of the vdso. */
static void test_library(void **state)
{
    static const char *const vdso_functions[] = {"__vdso_clock_gettime", "__kernel_clock_gettime"};
    struct symbolised *fixture = *state;
    uint32_t pid = (uint32_t)getpid();

    symbolised_need_libdw();
    symbolised_scan(fixture, pid);
    struct frame frame = symbolised_resolve(fixture, pid, (uintptr_t)sd_event_new);
    assert_string_equal(frame.symbol, "sd_event_new");
    assert_int_equal(frame.mapping->build_id_size, 20);
    void *vdso = dlopen("linux-vdso.so.1", RTLD_LAZY | RTLD_NOLOAD), *function = NULL;
    for (size_t i = 0; vdso && i < ARRAY_SIZE(vdso_functions) && !function; i++)
        function = dlsym(vdso, vdso_functions[i]);
    frame = symbolised_resolve(fixture, pid, (uintptr_t)function);
    assert_non_null(frame.symbol);
    assert_non_null(strstr(frame.symbol, "clock_gettime"));
    assert_string_equal(frame.mapping->file, "[vdso]");
    dlclose(vdso);
}

static void test_kernel(void **state)
{
    struct symbolised *fixture = *state;
    unsigned long long address = 0;
    char line[512], name[256], type;
    struct frame frame;

    _cleanup_(fclosep) FILE *file = fopen("/proc/kallsyms", "re");
    while (file && fgets(line, sizeof(line), file))
        if (sscanf(line, "%llx %c %255s", &address, &type, name) == 3 && str_equal(name, "vfs_read"))
            break;
    symbolised_scan(fixture, (uint32_t)getpid());
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

/* Resolves an address of this program in a process that has ended, after a record of its mapping. */
static struct frame resolve_ended(struct symbolised *fixture, const struct record *record)
{
    symbols_update(fixture->symbols, record);
    struct frame frame = symbolised_resolve(fixture, record->mmap.pid, (uintptr_t)known_static_function);
    assert_non_null(frame.mapping);
    return frame;
}

/* The process has ended when its file is opened; the file is the same, another one, or gone. */
static void test_gone(void **state)
{
    struct symbolised *fixture = *state;
    uint32_t pid = (uint32_t)getpid();
    struct stat status;
    struct frame frame;
    char path[128];

    symbolised_need_libdw();
    assert_int_equal(stat("/proc/self/exe", &status), 0);
    ssize_t size = readlink("/proc/self/exe", path, sizeof(path) - 1);
    path[size] = '\0';
    symbolised_scan(fixture, pid);
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
    frame = resolve_ended(fixture, &record); /* by the path alone */
    assert_string_equal(frame.symbol, "known_static_function");
    record.mmap.inode++;
    frame = resolve_ended(fixture, &record);
    assert_null(frame.symbol); /* another file is there now */
    record.mmap.inode = 0;
    record.mmap.build_id_size = 20;
    frame = resolve_ended(fixture, &record);
    assert_null(frame.symbol); /* it has another build id */
    record.mmap.file = "/nowhere";
    frame = resolve_ended(fixture, &record);
    assert_null(frame.symbol);
    record.mmap.file = "/dev/zero";
    record.mmap.build_id_size = 0;
    frame = resolve_ended(fixture, &record);
    assert_null(frame.symbol);
}

/* A mapping that is kept stays known, whatever its process does. */
static void test_kept(void **state)
{
    struct symbolised *fixture = *state;
    uint32_t pid = (uint32_t)getpid();
    struct symbols_kept kept;
    struct record record = {.type = PERF_RECORD_COMM,
                            .misc = PERF_RECORD_MISC_COMM_EXEC,
                            .comm = {.pid = pid, .tid = pid, .comm = "another"}};
    struct frame frame;

    symbolised_need_libdw();
    symbolised_scan(fixture, pid);
    symbols_resolve(fixture->symbols, pid, false, (uintptr_t)known_static_function, &frame);
    assert_non_null(frame.mapping->image);
    assert_null(frame.symbol);
    symbols_keep(&frame, pid, &kept);
    symbols_update(fixture->symbols, &record);
    symbolised_wait(fixture);
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
    struct symbolised *fixture = *state;
    char path[128], command[256];

    symbolised_need_libdw();
    if (geteuid() != 0)
        skip_because("only root sees /proc/PID/map_files");
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
    symbolised_scan(fixture, (uint32_t)pid);
    bool found = false;
    for (uintptr_t at = start; at < start + 0x40000 && !found; at += 0x1000)
        found = symbolised_resolve(fixture, (uint32_t)pid, at).symbol;
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    assert_true(start && found);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_own_function, symbolised_begin, symbolised_end),
        cmocka_unit_test_setup_teardown(test_library, symbolised_begin, symbolised_end),
        cmocka_unit_test_setup_teardown(test_kernel, symbolised_begin, symbolised_end),
        cmocka_unit_test_setup_teardown(test_gone, symbolised_begin, symbolised_end),
        cmocka_unit_test_setup_teardown(test_deleted, symbolised_begin, symbolised_end),
        cmocka_unit_test_setup_teardown(test_kept, symbolised_begin, symbolised_end),
    };

    if (argc > 1 && str_equal(argv[1], SYMBOLISER_COMMAND))
        return symboliser_serve(SYMBOLISER_SOCKET);
    if (runs_emulated()) {
        leave_out("the mappings in /proc are qemu's, and /proc/self/exe, which runs as the symboliser, is qemu");
        return 77;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
