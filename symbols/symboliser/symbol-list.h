/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Symbols as they are found, in any order, to become a block (symbol-table.h): of those at one address the best stays,
 * those without a size last until the next, and where there are too many the largest stay, as they have most samples.
 */
#ifndef SYMBOLS_SYMBOLISER_SYMBOL_LIST_H
#define SYMBOLS_SYMBOLISER_SYMBOL_LIST_H

#include "base/buffer.h"
#include "symbols/symboliser/symbol-table.h"

#define SYMBOL_NAME_MAX 255 /* bytes; longer ones, as templates have, are cut */

struct symbol_list {
    struct listed_symbol {
        uint64_t address;
        uint32_t size;
        uint32_t name : 30, rank : 2;
    } * symbols;
    size_t n;
    struct buffer names;
    size_t max;        /* bytes of the block; the list itself takes a quarter more. 0: as many as there are */
    uint32_t smallest; /* those that are smaller have found no room */
    struct symbol_segment segments[SYMBOL_SEGMENTS_MAX];
    size_t n_segments;
    unsigned char build_id[BUILD_ID_MAX];
    size_t build_id_size;
    bool was_cut;
};

/* Which of two symbols at one address is meant: the lower. */
enum symbol_rank {
    SYMBOL_GLOBAL,
    SYMBOL_LOCAL,
    SYMBOL_WEAK,
    SYMBOL_NEWEST, /* not beside the others: the one that was added last */
};

void symbol_list_done(struct symbol_list *list);
/* `size` 0: until the next. Names that no function has ("$x", ".L1") are not taken. -ENOMEM. */
int symbol_list_add(struct symbol_list *list, uint64_t address, uint64_t size, enum symbol_rank rank, const char *name);
/* Something else is there: a symbol without a size ends before it. */
int symbol_list_add_end(struct symbol_list *list, uint64_t address);
/* A sealed memfd with the block, of at most `max` bytes. Only symbol_list_done() can be called then. */
int symbol_list_seal(struct symbol_list *list, size_t max, int *ret_fd);

#endif
