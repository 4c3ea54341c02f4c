/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of functions made at run time, well-formed and malformed. */
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "symbols/symboliser/jit-symbols.h"
#include "tests/unit/test.h"

static void read_text(const char *text, size_t size, struct symbol_list *list)
{
    _cleanup_(closep) int fd = memfd_create("test", MFD_CLOEXEC);

    assert_int_equal(write(fd, text, size), size);
    assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
    assert_int_equal(jit_symbols_read(fd, list), 0);
}

static const struct {
    uint64_t in_address;
    const char *out;
} found[] = {
    {0x7f0000001000, "LazyCompile:*f /a b.js:1:2"},
    {0x7f000000101f, "LazyCompile:*f /a b.js:1:2"},
    {0x7f0000001020, NULL},
    {0x2000, "with 0x"},
    {0x3000, "newer"}, /* the place was used again */
    {0x300f, "newer"},
    {0x4000, "Lcom/example/Main;::run"},
    {0x5000, NULL},
    {0x6000, NULL},
    {0x9000, NULL},
};

static void test_lines(void **state)
{
    static const char text[] = "7f0000001000 20 LazyCompile:*f /a b.js:1:2\n"
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
    _cleanup_(symbol_list_done) struct symbol_list list = {0};
    _cleanup_(closep) int fd = -1;
    struct symbol_table table;
    uint64_t offset;

    (void)state;
    read_text(text, sizeof(text) - 1, &list);
    assert_int_equal(symbol_list_seal(&list, SYMBOL_TABLE_SIZE_MAX, &fd), 0);
    assert_int_equal(symbol_table_open(fd, &table), 0);
    for (size_t i = 0; i < ARRAY_SIZE(found); i++) {
        const char *name = symbol_table_find(&table, found[i].in_address, &offset);
        if (!name != !found[i].out || (name && !str_equal(name, found[i].out)))
            fail_msg("%zx: %s, not %s", (size_t)found[i].in_address, name, found[i].out);
    }
    symbol_table_close(&table);
}

static void test_long_line(void **state)
{
    _cleanup_(symbol_list_done) struct symbol_list list = {0};
    char text[20000];

    (void)state;
    memset(text, '1', sizeof(text));
    memcpy(text, "1000 10 ", 8);
    memcpy(text + 9000, " 1 x", 4); /* what is behind the cut is no line of its own */
    memcpy(text + sizeof(text) - 12, "\n2000 10 two\n", 12);
    text[sizeof(text) - 1] = '\n';
    read_text(text, sizeof(text), &list);
    assert_int_equal(list.n, 2);
    assert_int_equal(list.symbols[1].address, 0x2000);
    assert_int_equal(strlen(list.names.data), SYMBOL_NAME_MAX);
}

/* Of a list that is too long the end. */
static void test_long_list(void **state)
{
    _cleanup_(symbol_list_done) struct symbol_list list = {0};
    _cleanup_(freep) char *text = malloc(JIT_SYMBOLS_BYTES_MAX * 2);
    size_t size = 0, n = 0;

    (void)state;
    assert_non_null(text);
    while (size < JIT_SYMBOLS_BYTES_MAX + JIT_SYMBOLS_BYTES_MAX / 2)
        size += (size_t)sprintf(text + size, "%zx 100 function%0100zu\n", 0x10000 + n * 0x100, n), n++;
    read_text(text, size, &list);
    assert_true(list.was_cut);
    assert_true(list.n > n / 2 && list.n < n * 3 / 4);
    assert_int_equal(list.symbols[list.n - 1].address, 0x10000 + (n - 1) * 0x100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_long_line),
        cmocka_unit_test(test_long_list),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
