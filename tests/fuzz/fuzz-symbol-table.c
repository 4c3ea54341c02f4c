/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Treats arbitrary bytes as a symbol table from a compromised symboliser: any table that passes the check must be safe
 * to search.
 */
#include "symbols/symbol-table.h"
#include "tests/fuzz/fuzz.h"

static void search(const struct symbol_table *table, uint64_t address)
{
    uint64_t offset, found;

    const char *name = symbol_table_find(table, address, &offset);
    assert(!name || (offset <= address && strlen(name) < table->size));
    symbol_table_address(table, address, &found);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    _cleanup_(freep) void *block = copy_exact(data, size);
    struct symbol_table table;

    if (symbol_table_check(block, size, &table) < 0)
        return 0;
    search(&table, 0);
    search(&table, UINT64_MAX);
    for (uint32_t i = 0; i < table.head->n_symbols; i++) {
        search(&table, table.symbols[i].address - 1);
        search(&table, table.symbols[i].address);
        search(&table, table.symbols[i].address + table.symbols[i].size);
    }
    return 0;
}
