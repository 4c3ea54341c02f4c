/* SPDX-License-Identifier: Apache-2.0 */
/* Symbol tables are written to a block and read back, and malformed blocks are refused. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "symbols/symbol-table.h"
#include "tests/unit/test.h"

static struct symbol_table seal(struct symbol_list *list, size_t max)
{
    _cleanup_(closep) int fd = -1;
    struct symbol_table table;

    assert_int_equal(symbol_list_seal(list, max, &fd), 0);
    assert_int_equal(symbol_table_open(fd, &table), 0);
    symbol_list_done(list);
    return table;
}

static const struct {
    uint64_t address, size;
    enum symbol_rank rank;
    const char *name; /* NULL: adds the end of a section instead of a symbol */
} added[] = {
    {0xfffffffffffff000, 0x1000, SYMBOL_GLOBAL, "top"},
    {0x2010, 0x10, SYMBOL_GLOBAL, "inner"},
    {0x1000, 0x100, SYMBOL_GLOBAL, "first"},
    {0x2000, 0x1000, SYMBOL_GLOBAL, "outer"},
    {0x3000, 0, SYMBOL_GLOBAL, "sizeless"},
    {.address = 0x3100},
    {0x4000, 1, SYMBOL_WEAK, "weak"},
    {0x4000, 1, SYMBOL_LOCAL, "local_at_global"},
    {0x4000, 1, SYMBOL_GLOBAL, "global"},
    {0x5000, 1, SYMBOL_GLOBAL, "__plain_and_more"},
    {0x5000, 1, SYMBOL_GLOBAL, "plain"},
    {0x6000, 1, SYMBOL_GLOBAL, "name"},
    {0x6000, 1, SYMBOL_GLOBAL, "longer_name"},
    {0x7000, 0, SYMBOL_GLOBAL, "unsized"},
    {0x7000, 1, SYMBOL_WEAK, "sized"},
    {0x8000, 1, SYMBOL_WEAK, "weak"},
    {0x8000, 1, SYMBOL_LOCAL, "local"},
    {0x1001, 1, SYMBOL_GLOBAL, "$x"},
    {0x1002, 1, SYMBOL_GLOBAL, ".L1"},
    {0x1003, 1, SYMBOL_GLOBAL, ""},
};

static const struct {
    uint64_t in_address;
    const char *out;
    uint64_t out_offset;
} found[] = {
    {0xfff, NULL, 0},         {0x1000, "first", 0},       {0x10ff, "first", 0xff},    {0x1100, NULL, 0},
    {0x2000, "outer", 0},     {0x2010, "inner", 0},       {0x201f, "inner", 0xf},     {0x2020, "outer", 0x20},
    {0x2fff, "outer", 0xfff}, {0x3000, "sizeless", 0},    {0x30ff, "sizeless", 255},  {0x3100, NULL, 0},
    {0x4000, "global", 0},    {0x5000, "plain", 0},       {0x6000, "longer_name", 0}, {0x7000, "sized", 0},
    {0x8000, "local", 0},     {UINT64_MAX, "top", 0xfff},
};

TEST(test_find)
{
    struct symbol_list list = {0};

    for (size_t i = 0; i < ARRAY_SIZE(added); i++) {
        int r = added[i].name ? symbol_list_add(&list, added[i].address, added[i].size, added[i].rank, added[i].name)
                              : symbol_list_add_end(&list, added[i].address);
        assert_int_equal(r, 0);
    }
    struct symbol_table table = seal(&list, SYMBOL_TABLE_SIZE_MAX);
    for (size_t i = 0; i < ARRAY_SIZE(found); i++) {
        uint64_t offset = 0;
        const char *name = symbol_table_find(&table, found[i].in_address, &offset);
        if (!found[i].out)
            assert_null(name);
        else
            assert_string_equal(name ? name : "(none)", found[i].out);
        assert_int_equal(offset, found[i].out_offset);
    }
    assert_false(table.head->was_cut);
    symbol_table_close(&table);
}

TEST(test_segments)
{
    struct symbol_list list = {.segments = {{0, 0x100, 0x400000}, {0x1000, 0x10, 0x700000}}, .n_segments = 2};
    uint64_t at = 7;

    struct symbol_table table = seal(&list, SYMBOL_TABLE_SIZE_MAX);
    assert_null(symbol_table_find(&table, 0, &at));
    assert_null(symbol_table_find(&table, UINT64_MAX, &at));
    assert_true(symbol_table_address(&table, 0xff, &at));
    assert_int_equal(at, 0x4000ff);
    assert_false(symbol_table_address(&table, 0x100, &at));
    assert_int_equal(at, 0x4000ff);
    assert_true(symbol_table_address(&table, 0x100f, &at));
    assert_int_equal(at, 0x70000f);
    assert_false(symbol_table_address(&table, 0x1010, &at));
    symbol_table_close(&table);
}

/* The largest symbols are kept, in address order. A long name is truncated. */
TEST(test_too_many)
{
    struct symbol_list list = {0};
    char name[4096];
    uint64_t offset;

    for (unsigned i = 0; i < 1000; i++) {
        snprintf(name, sizeof(name), "f%u", i);
        assert_int_equal(symbol_list_add(&list, i * 0x1000, 1 + (i * 7) % 1000, SYMBOL_GLOBAL, name), 0);
    }
    memset(name, 'x', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    assert_int_equal(symbol_list_add(&list, UINT64_C(1) << 40, 5000, SYMBOL_GLOBAL, name), 0);
    struct symbol_table table = seal(&list, 8192);
    assert_true(table.head->was_cut);
    assert_in_range(table.size, 8192 - 64, 8192);
    assert_in_range(table.head->n_symbols, 300, 400);
    for (uint32_t i = 0; i < table.head->n_symbols; i++)
        assert_true(table.symbols[i].size > 500);
    assert_int_equal(strlen(symbol_table_find(&table, UINT64_C(1) << 40, &offset)), 255);
    symbol_table_close(&table);
}

/*
 * A list that is bounded from the start never exceeds its bound, and finally contains the same symbols as an unbounded
 * one.
 */
TEST(test_bounded)
{
    enum { BYTES = 16384, N = 20000 };
    struct symbol_list list = {.max = BYTES};
    size_t most = 0;
    char name[16];

    for (unsigned i = 0; i < N; i++) {
        unsigned number = i * 7919 % N; /* i * 7919 % N gives each number once, in mixed order */
        snprintf(name, sizeof(name), "f%u", number);
        assert_int_equal(symbol_list_add(&list, number * UINT64_C(0x10000), 1 + number, SYMBOL_GLOBAL, name), 0);
        most = MAX(most, list.n * sizeof(list.symbols[0]) + list.names.size);
    }
    assert_in_range(most, BYTES, BYTES + BYTES / 4 + 64);
    struct symbol_table table = seal(&list, BYTES);
    assert_true(table.head->was_cut);
    assert_in_range(table.size, BYTES - 64, BYTES);
    for (uint32_t i = 0; i < table.head->n_symbols; i++) {
        unsigned number = N - table.head->n_symbols + i;
        snprintf(name, sizeof(name), "f%u", number);
        assert_int_equal(table.symbols[i].address, number * UINT64_C(0x10000));
        assert_int_equal(table.symbols[i].size, 1 + number);
        assert_string_equal(table.names + table.symbols[i].name, name);
    }
    symbol_table_close(&table);
}

/* Copies a block into memory of exactly its size, so that a sanitizer detects reads past its end. */
static int check_copy(const struct symbol_table *table, size_t size, size_t at, unsigned char change)
{
    _cleanup_(freep) unsigned char *copy = malloc(size ? size : 1);
    struct symbol_table other;
    uint64_t offset;

    memcpy(copy, table->head, size);
    if (at < size)
        copy[at] = (unsigned char)(copy[at] ^ change);
    int r = symbol_table_check(copy, size, &other);
    if (r < 0)
        return r;
    for (uint64_t address = 0; address < 0x3000; address += 0x80) {
        const char *name = symbol_table_find(&other, address, &offset);
        assert_true(!name || strlen(name) < size);
        symbol_table_address(&other, address, &offset);
    }
    return 0;
}

TEST(test_broken)
{
    struct symbol_list list = {.segments = {{0, 0x100, 0x400000}}, .n_segments = 1, .build_id_size = 20};
    size_t refused = 0;

    assert_int_equal(symbol_list_add(&list, 0x1000, 0x100, SYMBOL_GLOBAL, "one"), 0);
    assert_int_equal(symbol_list_add(&list, 0x2000, 0x100, SYMBOL_GLOBAL, "two"), 0);
    struct symbol_table table = seal(&list, SYMBOL_TABLE_SIZE_MAX);
    assert_int_equal(check_copy(&table, table.size, SIZE_MAX, 0), 0);
    for (size_t size = 0; size < table.size; size++)
        assert_int_equal(check_copy(&table, size, SIZE_MAX, 0), -EBADMSG);
    for (size_t at = 0; at < table.size; at++)
        for (unsigned bit = 0; bit < 8; bit++)
            refused += check_copy(&table, table.size, at, (unsigned char)(1u << bit)) < 0;
    assert_int_equal(check_copy(&table, table.size, offsetof(struct symbol_table_head, build_id_size), 0x80), -EBADMSG);
    /*
     * Changes are detected in the head except for the build id, in the order of addresses, in the offsets of names, and
     * in the last NUL.
     */
    assert_true(refused > 200);
    symbol_table_close(&table);
}

TEST(test_not_sealed)
{
    _cleanup_(closep) int fd = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    const struct symbol_table_head head = {.magic = SYMBOL_TABLE_MAGIC};
    struct symbol_table table = {0};

    assert_int_equal(symbol_table_open(-1, &table), -EBADMSG);
    assert_int_equal(write(fd, &head, sizeof(head)), sizeof(head));
    assert_int_equal(symbol_table_open(fd, &table), -EBADMSG);
    assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW), 0);
    assert_int_equal(symbol_table_open(fd, &table), -EBADMSG);
    assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE), 0);
    assert_null(table.head);
    assert_int_equal(symbol_table_open(fd, &table), 0);
    symbol_table_close(&table);
}

TEST_MAIN(NULL, NULL)
