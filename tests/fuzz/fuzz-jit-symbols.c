/* SPDX-License-Identifier: Apache-2.0 */
/* Parses arbitrary bytes as a list of JIT-compiled functions: the result is a valid table. */
#include "symbols/symbol-lists.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    _cleanup_(closep) int file = make_file(data, size), block = -1;
    _cleanup_(symbol_list_done) struct symbol_list list = {0};
    struct symbol_table table;

    assert(jit_symbols_read(file, &list) == 0);
    assert(symbol_list_seal(&list, SYMBOL_TABLE_SIZE_MAX, &block) == 0);
    assert(symbol_table_open(block, &table) == 0);
    symbol_table_close(&table);
    return 0;
}
