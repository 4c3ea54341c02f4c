/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of /proc/kallsyms, functions made at run time, and the kernel's build id. */
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "symbols/build-id.h"
#include "symbols/ksymbols.h"
#include "symbols/symboliser/kallsyms.h"
#include "tests/unit/test.h"

static int read_text(const char *text, struct symbol_list *list)
{
    _cleanup_(closep) int fd = memfd_create("test", MFD_CLOEXEC);

    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
    return kallsyms_read(fd, list);
}

static void test_kallsyms(void **state)
{
    static const struct {
        uint64_t in_address;
        const char *out;
    } cases[] = {
        {UINT64_C(0xffffffff81000000), "_stext"}, {UINT64_C(0xffffffff8100000f), "_stext"},
        {UINT64_C(0xffffffff81000010), "second"}, {UINT64_C(0xffffffff8100001f), "second"},
        {UINT64_C(0xffffffff81000020), NULL},     {UINT64_C(0xffffffffc0000004), "function [a_module]"},
        {UINT64_C(0xffffffffc0010000), NULL},
    };
    _cleanup_(symbol_list_done) struct symbol_list list = {0};
    _cleanup_(closep) int fd = -1;
    struct symbol_table table;
    uint64_t offset;

    (void)state;
    assert_int_equal(read_text("0000000000000000 A fixed_percpu_data\n"
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
                               "ffffffff81000018 T cut off",
                               &list),
                     0);
    assert_int_equal(symbol_list_seal(&list, SYMBOL_TABLE_SIZE_MAX, &fd), 0);
    assert_int_equal(symbol_table_open(fd, &table), 0);
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        const char *name = symbol_table_find(&table, cases[i].in_address, &offset);
        assert_string_equal(name ? name : "", cases[i].out ? cases[i].out : "");
    }
    symbol_table_close(&table);
}

static void test_hidden(void **state)
{
    _cleanup_(symbol_list_done) struct symbol_list list = {0};

    (void)state;
    assert_int_equal(read_text("0000000000000000 T _text\n0000000000000000 t x\n", &list), -EACCES);
    assert_int_equal(read_text("", &list), -EACCES);
}

static void test_ksymbols(void **state)
{
    _cleanup_(ksymbols_done) struct ksymbols ksymbols = {0};
    uint64_t offset = 0;

    (void)state;
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

static void test_build_id(void **state)
{
    static const unsigned char notes[] = "\4\0\0\0\3\0\0\0\1\0\0\0Xen\0abc\0"
                                         "\4\0\0\0\4\0\0\0\3\0\0\0GNU\0\1\2\3\4";
    unsigned char id[BUILD_ID_MAX];
    struct sys sys;

    (void)state;
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kallsyms),
        cmocka_unit_test(test_hidden),
        cmocka_unit_test(test_ksymbols),
        cmocka_unit_test(test_build_id),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
