/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of /proc/PID/maps. */
#include <sys/mman.h>

#include "symbols/proc-maps.h"
#include "tests/unit/test.h"

static const struct {
    const char *in_line;
    struct mapping out;
} good_lines[] = {
    {"00400000-00452000 r-xp 00001000 08:02 173521      /usr/bin/dbus-daemon",
     {.start = 0x400000,
      .end = 0x452000,
      .offset = 0x1000,
      .major = 8,
      .minor = 2,
      .inode = 173521,
      .protection = PROT_READ | PROT_EXEC,
      .flags = MAP_PRIVATE,
      .file = "/usr/bin/dbus-daemon"}},
    {"7ffe-7fff rw-s 00000000 fd:1f 0",
     {.start = 0x7ffe,
      .end = 0x7fff,
      .major = 0xfd,
      .minor = 0x1f,
      .protection = PROT_READ | PROT_WRITE,
      .flags = MAP_SHARED,
      .file = "//anon"}},
    {"1-2 ---p 00000000 00:00 0 ", {.start = 1, .end = 2, .flags = MAP_PRIVATE, .file = "//anon"}},
    {"ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]",
     {.start = UINT64_C(0xffffffffff600000),
      .end = UINT64_C(0xffffffffff601000),
      .protection = PROT_EXEC,
      .flags = MAP_PRIVATE,
      .file = "[vsyscall]"}},
    {"1-2 r-xp 00000000 00:01 5 /a b\\012c (deleted)",
     {.start = 1,
      .end = 2,
      .minor = 1,
      .inode = 5,
      .protection = PROT_READ | PROT_EXEC,
      .flags = MAP_PRIVATE,
      .file = "/a b\nc"}},
    {"1-2 r-xp 00000000 00:01 5 /a\\9\\", /* no escape */
     {.start = 1,
      .end = 2,
      .minor = 1,
      .inode = 5,
      .protection = PROT_READ | PROT_EXEC,
      .flags = MAP_PRIVATE,
      .file = "/a\\9\\"}},
};

static void test_lines(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(good_lines); i++) {
        const struct mapping *out = &good_lines[i].out;
        struct mapping mapping;
        char line[256];
        strcpy(line, good_lines[i].in_line);
        assert_int_equal(proc_maps_parse_line(line, &mapping), 0);
        assert_true(mapping.start == out->start && mapping.end == out->end && mapping.offset == out->offset);
        assert_true(mapping.major == out->major && mapping.minor == out->minor && mapping.inode == out->inode);
        assert_int_equal(mapping.protection, out->protection);
        assert_int_equal(mapping.flags, out->flags);
        assert_string_equal(mapping.file, out->file);
    }
}

static void test_anonymous(void **state)
{
    static const struct {
        const char *in;
        bool out;
    } cases[] = {
        {"//anon", true},         {"[anon:v8]", true}, {"/dev/zero", true},    {"/anon_hugepage", true},
        {"[heap]", false},        {"[stack]", false},  {"[vdso]", false},      {"/dev/null", false},
        {"/usr/bin/anon", false}, {"", false},         {"/memfd:code", false},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        assert_int_equal(proc_maps_is_anonymous(cases[i].in), cases[i].out);
}

static void test_bad_lines(void **state)
{
    static const char *const lines[] = {
        "",
        "x",
        "1-",
        "1-2",
        "1-2 ",
        "1-2 r-x",
        "1-2 r-xp",
        "1-2 r-xp ",
        "1-2 r-xp 0",
        "1-2 r-xp 0 ",
        "1-2 r-xp 0 0",
        "1-2 r-xp 0 0:0",
        "1-2 r-xp 0 0:0 ",
        "1-2 r-xp 0 0:0 x",
        "2-2 r-xp 0 0:0 0",
        "3-2 r-xp 0 0:0 0",
        "1-2 q-xp 0 0:0 0",
        "11111111111111111-2 r-xp 0 0:0 0",
        "1-2 r-xp 0 0:0 99999999999999999999",
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
        struct mapping mapping = {.start = 42};
        char line[64];
        strcpy(line, lines[i]);
        assert_int_equal(proc_maps_parse_line(line, &mapping), -EBADMSG);
        assert_int_equal(mapping.start, 42);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_lines), cmocka_unit_test(test_anonymous),
                                       cmocka_unit_test(test_bad_lines)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
