/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Symbols in the order that they are found in, until they become a block (symbol-table.h). Of several symbols at one
 * address, the best is kept. A symbol without a size ends where the next begins. If there are too many, the largest are
 * kept, since most addresses are in them.
 */
#ifndef SYMBOLS_SYMBOL_LIST_H
#define SYMBOLS_SYMBOL_LIST_H

#include "base/buffer.h"
#include "symbols/symbol-table.h"

#define SYMBOL_NAME_MAX 255 /* bytes; longer names, such as those of templates, are cut */

struct symbol_list {
    struct listed_symbol {
        uint64_t address;
        uint32_t size;
        uint32_t name : 30, rank : 2;
    } * symbols;
    size_t n;
    struct buffer names;
    size_t max;        /* bytes of the block; the list itself takes up to a quarter more. 0: no limit */
    uint32_t smallest; /* smaller symbols have found no room */
    struct symbol_segment segments[SYMBOL_SEGMENTS_MAX];
    size_t n_segments;
    unsigned char build_id[BUILD_ID_MAX];
    size_t build_id_size;
    bool was_cut;
};

/* Of two symbols at one address, the one with the lower rank is kept. */
enum symbol_rank {
    SYMBOL_GLOBAL,
    SYMBOL_LOCAL,
    SYMBOL_WEAK,
    SYMBOL_NEWEST, /* of a list that has no other rank: the symbol that was added last is kept */
};

void symbol_list_done(struct symbol_list *list);
/* `size` 0: up to the next. Names of marks ("$x", ".L1") are ignored. -ENOMEM. */
int symbol_list_add(struct symbol_list *list, uint64_t address, uint64_t size, enum symbol_rank rank, const char *name);
/* Something that is not a function is there: a symbol without a size ends before it. */
int symbol_list_add_end(struct symbol_list *list, uint64_t address);
/* Makes a sealed memfd with the block, of at most `max` bytes. Then only symbol_list_done() may be called. */
int symbol_list_seal(struct symbol_list *list, size_t max, int *ret_fd);

#endif
