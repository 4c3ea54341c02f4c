/* SPDX-License-Identifier: Apache-2.0 */
/* Symbols from /proc/kallsyms, symbols of functions generated at run time, and the kernel's build id. */
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "symbols/kernel.h"
#include "symbols/symbol-lists.h"
#include "symbols/symbols.h"
#include "tests/unit/test.h"

typedef int (*list_reader)(int fd, struct symbol_list *list);

static int read_text(list_reader reader, const char *text, size_t size, struct symbol_list *list)
{
    _cleanup_(closep) int fd = memfd_create("test", MFD_CLOEXEC);

    assert_int_equal(write(fd, text, size), size);
    assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
    return reader(fd, list);
}

struct expectation {
    uint64_t in_address;
    const char *out;
};

static void check_list(list_reader reader, const char *text, size_t size, const struct expectation *cases, size_t n)
{
    _cleanup_(symbol_list_done) struct symbol_list list = {0};
    _cleanup_(closep) int fd = -1;
    struct symbol_table table;
    uint64_t offset;

    assert_int_equal(read_text(reader, text, size, &list), 0);
    assert_int_equal(symbol_list_seal(&list, SYMBOL_TABLE_SIZE_MAX, &fd), 0);
    assert_int_equal(symbol_table_open(fd, &table), 0);
    for (size_t i = 0; i < n; i++) {
        const char *name = symbol_table_find(&table, cases[i].in_address, &offset);
        assert_string_equal(name ? name : "", cases[i].out ? cases[i].out : "");
    }
    symbol_table_close(&table);
}

static const char kallsyms[] = "0000000000000000 A fixed_percpu_data\n"
                               "ffffffff81000010 t second\n"
                               "ffffffff81000000 T _stext\n"
                               "ffffffff8100001c t __pfx_third\n"
                               "ffffffff81000020 D data\n"
                               "ffffffffc0000000 t function\t[a_module]\n"
                               "ffffffffc0000000 t $x\t[a_module]\n"
                               "\n"
                               "x T y\n"
                               "ffffffff8\n"
                               "ffffffff8 T\n"
                               "ffffffff81000018 T cut off";

static const struct expectation of_kallsyms[] = {
    {UINT64_C(0xffffffff81000000), "_stext"}, {UINT64_C(0xffffffff8100000f), "_stext"},
    {UINT64_C(0xffffffff81000010), "second"}, {UINT64_C(0xffffffff8100001f), "second"},
    {UINT64_C(0xffffffff81000020), NULL},     {UINT64_C(0xffffffffc0000004), "function [a_module]"},
    {UINT64_C(0xffffffffc0010000), NULL},
};

static const char jit[] = "7f0000001000 20 LazyCompile:*f /a b.js:1:2\n"
                          "0x2000 0x10 with 0x\n"
                          "3000 100 older, longer\n"
                          "3000 10 newer\n"
                          "4000 10 Lcom/example/Main;::run\n"
                          "\n"
                          "5000\n"
                          "5000 10\n"
                          "5000 10 \n"
                          " 5000 10 a\n"
                          "-5000 10 a\n"
                          "5000 x a\n"
                          "50000000000000000 10 a\n"
                          "6000 10 nul\0 within\n"
                          "9000 10 cut of";

static const struct expectation of_jit[] = {
    {0x7f0000001000, "LazyCompile:*f /a b.js:1:2"},
    {0x7f000000101f, "LazyCompile:*f /a b.js:1:2"},
    {0x7f0000001020, NULL},
    {0x2000, "with 0x"},
    {0x3000, "newer"}, /* a newer function is at the same address */
    {0x300f, "newer"},
    {0x4000, "Lcom/example/Main;::run"},
    {0x5000, NULL},
    {0x6000, NULL},
    {0x9000, NULL},
};

TEST(test_lists)
{
    check_list(kallsyms_read, kallsyms, strlen(kallsyms), of_kallsyms, ARRAY_SIZE(of_kallsyms));
    check_list(jit_symbols_read, jit, sizeof(jit) - 1, of_jit, ARRAY_SIZE(of_jit));
}

TEST(test_hidden)
{
    static const char hidden[] = "0000000000000000 T _text\n0000000000000000 t x\n";
    _cleanup_(symbol_list_done) struct symbol_list list = {0};

    assert_int_equal(read_text(kallsyms_read, hidden, strlen(hidden), &list), -EACCES);
    assert_int_equal(read_text(kallsyms_read, "", 0, &list), -EACCES);
}

TEST(test_long_line)
{
    _cleanup_(symbol_list_done) struct symbol_list list = {0};
    char text[20000];

    memset(text, '1', sizeof(text));
    memcpy(text, "1000 10 ", 8);
    memcpy(text + 9000, " 1 x", 4); /* the rest of a truncated line is not treated as a line */
    memcpy(text + sizeof(text) - 12, "\n2000 10 two\n", 12);
    text[sizeof(text) - 1] = '\n';
    assert_int_equal(read_text(jit_symbols_read, text, sizeof(text), &list), 0);
    assert_int_equal(list.n, 2);
    assert_int_equal(list.symbols[1].address, 0x2000);
    assert_int_equal(strlen(list.names.data), SYMBOL_NAME_MAX);
}

/* If a list is too long, only its end is kept. */
TEST(test_long_list)
{
    _cleanup_(symbol_list_done) struct symbol_list list = {0};
    _cleanup_(freep) char *text = malloc(JIT_SYMBOLS_BYTES_MAX * 2);
    size_t size = 0, n = 0;

    assert_non_null(text);
    while (size < JIT_SYMBOLS_BYTES_MAX + JIT_SYMBOLS_BYTES_MAX / 2)
        size += (size_t)sprintf(text + size, "%zx 100 function%0100zu\n", 0x10000 + n * 0x100, n), n++;
    assert_int_equal(read_text(jit_symbols_read, text, size, &list), 0);
    assert_true(list.was_cut);
    assert_true(list.n > n / 2 && list.n < n * 3 / 4);
    assert_int_equal(list.symbols[list.n - 1].address, 0x10000 + (n - 1) * 0x100);
}

TEST(test_ksymbols)
{
    _cleanup_(ksymbols_done) struct ksymbols ksymbols = {0};
    uint64_t offset = 0;

    assert_null(ksymbols_find(&ksymbols, 5, &offset));
    ksymbols_remove(&ksymbols, 5);
    ksymbols_add(&ksymbols, 0x2000, 0x10, "two");
    ksymbols_add(&ksymbols, 0x1000, 0x10, "one");
    ksymbols_add(&ksymbols, 0x2000, 0x20, "two again");
    assert_int_equal(ksymbols.n, 2);
    assert_string_equal(ksymbols_find(&ksymbols, 0x100f, &offset), "one");
    assert_int_equal(offset, 0xf);
    assert_null(ksymbols_find(&ksymbols, 0x1010, &offset));
    assert_string_equal(ksymbols_find(&ksymbols, 0x201f, &offset), "two again");
    ksymbols_remove(&ksymbols, 0x2001);
    ksymbols_remove(&ksymbols, 0x1000);
    assert_null(ksymbols_find(&ksymbols, 0x1000, &offset));
    for (uint64_t i = 0; i < 2 * KSYMBOLS_MAX; i++)
        ksymbols_add(&ksymbols, i << 20, 1, "many");
    assert_int_equal(ksymbols.n, KSYMBOLS_MAX);
}

TEST(test_build_id)
{
    static const unsigned char notes[] = "\4\0\0\0\3\0\0\0\1\0\0\0Xen\0abc\0"
                                         "\4\0\0\0\4\0\0\0\3\0\0\0GNU\0\1\2\3\4";
    unsigned char id[BUILD_ID_MAX];
    struct sys sys;

    assert_int_equal(build_id_of_notes(notes, sizeof(notes) - 1, id), 4);
    assert_memory_equal(id, "\1\2\3\4", 4);
    for (size_t size = 0; size < sizeof(notes) - 1; size++) {
        unsigned char *copy = malloc(size + 1);
        memcpy(copy, notes, size);
        assert_int_equal(build_id_of_notes(copy, size, id), 0);
        free(copy);
    }
    sys_init(&sys);
    size_t size = build_id_of_kernel(&sys, id);
    assert_true(size == 20 || access("/sys/kernel/notes", R_OK) < 0);
    sys.root = "/nowhere";
    assert_int_equal(build_id_of_kernel(&sys, id), 0);
}

TEST_MAIN(NULL, NULL)
