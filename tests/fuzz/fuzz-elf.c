/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads arbitrary bytes as an ELF file and as a list of kernel symbols: the symboliser, which uses libdw, builds a
 * valid table from it, even if there is space for only a few symbols.
 */
#include "base/text.h"
#include "symbols/elf.h"
#include "symbols/symbol-lists.h"
#include "tests/fuzz/fuzz.h"

enum { SMALL = 4096 };

static void check_table(const struct symbol_table *table)
{
    uint64_t offset, address;

    assert(table->head->build_id_size <= BUILD_ID_MAX && table->head->n_segments <= SYMBOL_SEGMENTS_MAX);
    for (uint32_t i = 0; i < table->head->n_symbols; i++) {
        const struct symbol_entry *symbol = &table->symbols[i];
        assert(strlen(table->names + symbol->name) <= SYMBOL_NAME_MAX);
        assert(symbol->size == 0 || symbol_table_find(table, symbol->address, &offset));
        symbol_table_address(table, symbol->address, &address);
    }
}

static void seal(struct symbol_list *list, size_t max)
{
    _cleanup_(closep) int block = -1;
    struct symbol_table table;

    assert(symbol_list_seal(list, max, &block) == 0);
    assert(symbol_table_open(block, &table) == 0);
    assert(table.size <= max);
    check_table(&table);
    symbol_table_close(&table);
}

static void read_elf(int file, size_t max)
{
    static const struct elf_library *library;
    _cleanup_(symbol_list_done) struct symbol_list list = {.max = max};

    if (!library)
        library = elf_symbols_load();
    assert(library);
    int r = elf_symbols_read(library, file, &list);
    assert(r == 0 || r == -EBADMSG || r == -ENOMEM);
    if (r == 0)
        seal(&list, max);
}

static void read_kallsyms(int file)
{
    _cleanup_(symbol_list_done) struct symbol_list list = {0};
    int r = kallsyms_read(file, &list);

    assert(r == 0 || r == -EACCES);
    if (r == 0)
        seal(&list, SYMBOL_TABLE_SIZE_MAX);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    _cleanup_(closep) int file = make_file(data, size);

    if (size >= 4 && memcmp(data, "\177ELF", 4) == 0) {
        read_elf(file, SYMBOL_TABLE_SIZE_MAX);
        read_elf(file, SMALL);
    } else {
        read_kallsyms(file);
    }
    return 0;
}
