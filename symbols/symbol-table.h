/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The symbols of one file or of the kernel as one block of memory: a head, the segments of the file, the symbols sorted
 * by address, their names.
 *
 * The symboliser's process (symboliser.h) writes it into a sealed memfd. Since that process has read untrusted input,
 * the receiver checks the whole block once, and never writes to it.
 *
 * Symbols in the order that they are found in, until they become a block (symbol-table.h). Of several symbols at one
 * address, the best is kept. A symbol without a size ends where the next begins. If there are too many, the largest are
 * kept, since most addresses are in them.
 */
#ifndef SYMBOLS_SYMBOL_TABLE_H
#define SYMBOLS_SYMBOL_TABLE_H

#include "base/buffer.h"
#include "base/util.h"

#define SYMBOL_TABLE_MAGIC UINT32_C(0x31746273)
#define SYMBOL_TABLE_SIZE_MAX ((size_t)16 << 20)
#define SYMBOL_SEGMENTS_MAX 32
#define BUILD_ID_MAX 20

struct symbol_table_head {
    uint32_t magic, n_segments, n_symbols, names_size;
    uint32_t was_cut; /* 1: there were more symbols than the table may have */
    uint32_t build_id_size;
    unsigned char build_id[BUILD_ID_MAX];
    uint32_t unused;
};

/* From a program header: bytes of the file from `offset` are at `address` in the address space of the file. */
struct symbol_segment {
    uint64_t offset, size, address;
};

struct symbol_entry {
    uint64_t address;
    uint32_t size;
    uint32_t name; /* offset into the names */
};

/* Points into the block. */
struct symbol_table {
    const struct symbol_table_head *head;
    const struct symbol_segment *segments;
    const struct symbol_entry *symbols;
    const char *names;
    size_t size; /* of the block */
};

/* Checks a block that is aligned to 8 bytes. -EBADMSG if anything in it is invalid. */
int symbol_table_check(const void *block, size_t size, struct symbol_table *ret);
/* Maps and checks the block in a memfd, which stays the caller's. -EBADMSG unless it is sealed against all changes. */
int symbol_table_open(int fd, struct symbol_table *ret);
void symbol_table_close(struct symbol_table *table);

/* The address, in the address space of the file, of the byte at `offset` of the file. False if it has none. */
bool symbol_table_address(const struct symbol_table *table, uint64_t offset, uint64_t *ret);
/* The symbol that covers the address, NULL if none does. */
const char *symbol_table_find(const struct symbol_table *table, uint64_t address, uint64_t *ret_offset);

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
