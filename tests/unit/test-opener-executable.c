/* SPDX-License-Identifier: Apache-2.0 */
/* The mapped files that the opener hands out: lines as the kernel writes them, and the mappings of this process. */
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "opener/executable.h"
#include "tests/unit/test.h"

#define LINES                                                                                                          \
    "55d0c0000000-55d0c0001000 r--p 00000000 fe:00 123  /usr/bin/a b\n"                                                \
    "55d0c0001000-55d0c0002000 r-xp 00001000 fe:00 123  /usr/bin/a b\n"                                                \
    "55d0c0002000-55d0c0003000 rw-s 00002000 fe:00 123  /x-xxx r-xp\n"                                                 \
    "00400000-00401000 --xp 00000000 fe:00 9 /short\n"                                                                 \
    "ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0 [vsyscall]\n"

static void test_find(void **state)
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

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        size_t size = strlen(cases[i].in);
        _cleanup_(freep) char *text = malloc(MAX(size, 1)); /* exactly that large, for AddressSanitizer */
        assert_non_null(text);
        memcpy(text, cases[i].in, size);
        int r = opener_executable_find(text, size, cases[i].start, cases[i].end);
        if (r != cases[i].out)
            fail_msg("%zu: %d, not %d", i, r, cases[i].out);
    }
}

struct mapping {
    void *address;
    char path[96];
};

static struct mapping map(int fd, int protection)
{
    struct mapping mapping = {.address = mmap(NULL, 4096, protection, MAP_PRIVATE, fd, 0)};
    unsigned long start = (unsigned long)mapping.address;

    assert_true(mapping.address != MAP_FAILED);
    snprintf(mapping.path, sizeof(mapping.path), "/proc/%d/map_files/%lx-%lx", (int)getpid(), start, start + 4096);
    return mapping;
}

/* A file of its own, that others do not have mapped beside. */
static void test_open(void **state)
{
    FILE *file = tmpfile();
    struct stat expected, found;
    struct sys sys;

    (void)state;
    if (runs_emulated())
        skip_because("qemu maps a file elsewhere than the program sees, and without PROT_EXEC");
    sys_init(&sys);
    assert_non_null(file);
    assert_true(fputs("executable", file) >= 0 && fflush(file) == 0);
    assert_int_equal(fstat(fileno(file), &expected), 0);
    struct mapping code = map(fileno(file), PROT_READ | PROT_EXEC), data = map(fileno(file), PROT_READ);
    assert_int_equal(opener_executable_open(&sys, data.path), -EBADRQC);
    _cleanup_(closep) int fd = opener_executable_open(&sys, code.path);
    if (fd == -EPERM || fd == -EACCES)
        skip_because("/proc/PID/map_files wants CAP_SYS_ADMIN or CAP_CHECKPOINT_RESTORE");
    assert_true(fd >= 0);
    assert_int_equal(fstat(fd, &found), 0);
    assert_int_equal(found.st_ino, expected.st_ino);
    char text[16] = "";
    assert_int_equal(pread(fd, text, sizeof(text), 0), 10);
    munmap(code.address, 4096);
    munmap(data.address, 4096);
    assert_int_equal(opener_executable_open(&sys, code.path), -ENOENT);
    assert_int_equal(opener_executable_open(&sys, "/proc/4194304/map_files/1-2"), -ENOENT);
    fclose(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_find),
        cmocka_unit_test(test_open),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
