/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The symbols of one file or of the kernel, in one block of memory: a head, the segments of the file, the symbols
 * sorted by address, and their names.
 *
 * The symboliser's process (symbols/symboliser.h) collects symbols in a `struct symbol_list` in any order and seals
 * them as a block in a memfd. If several symbols have the same address, the best one is kept. A symbol without a size
 * ends where the next one begins. If there are too many symbols, the largest are kept, since they contain most
 * addresses.
 *
 * The daemon maps the block read-only as a `struct symbol_table`. The symboliser has read untrusted input, so the
 * daemon checks the whole block once; the seals prevent later changes.
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
    uint32_t was_cut; /* 1 if symbols were left out for lack of room */
    uint32_t build_id_size;
    unsigned char build_id[BUILD_ID_MAX];
    uint32_t is_stripped; /* 1 if the file has no .symtab, so that only exported functions have symbols */
};

/*
 * A segment of the file, from a program header (PT_LOAD): `size` bytes at `offset` of the file have virtual addresses
 * from `address` on, before any relocation.
 */
struct symbol_segment {
    uint64_t offset, size, address;
};

struct symbol_entry {
    uint64_t address;
    uint32_t size;
    uint32_t name; /* offset of the name in the block's names */
};

/* All pointers point into the block. */
struct symbol_table {
    const struct symbol_table_head *head;
    const struct symbol_segment *segments;
    const struct symbol_entry *symbols;
    const char *names;
    size_t size; /* bytes of the block */
};

/* Checks a block, which must be aligned to 8 bytes. Returns -EBADMSG if anything in it is invalid. Pure. */
int symbol_table_check(const void *block, size_t size, struct symbol_table *ret);
/*
 * Maps and checks the block in a memfd, which the caller keeps. Returns -EBADMSG if the memfd is not sealed against all
 * changes or the block is invalid, or an error from fstat(2) or mmap(2).
 */
int symbol_table_open(int fd, struct symbol_table *ret);
/* Unmaps the block. A zeroed table is allowed. */
void symbol_table_close(struct symbol_table *table);

/*
 * Converts an offset in the file to a virtual address, to look it up among the file's symbols. Returns false if no
 * segment has the offset.
 */
bool symbol_table_address(const struct symbol_table *table, uint64_t offset, uint64_t *ret);
/*
 * Returns the name of the symbol that covers the address, borrowed from the table, and the address's offset in it, or
 * NULL if there is none.
 */
const char *symbol_table_find(const struct symbol_table *table, uint64_t address, uint64_t *ret_offset);

#define SYMBOL_NAME_MAX 255 /* maximum bytes of a name; longer names, for example of C++ templates, are truncated */

/* Empty if zeroed except for `max`. */
struct symbol_list {
    struct listed_symbol {
        uint64_t address;
        uint32_t size;
        uint32_t name : 30, rank : 2;
    } * symbols;
    size_t n;
    struct buffer names;
    size_t max;        /* limit of the resulting block in bytes; the list may exceed it by a quarter; 0: no limit */
    uint32_t smallest; /* symbols with fewer bytes of code are left out for lack of room */
    struct symbol_segment segments[SYMBOL_SEGMENTS_MAX];
    size_t n_segments;
    unsigned char build_id[BUILD_ID_MAX];
    size_t build_id_size;
    bool was_cut, is_stripped; /* same meaning as in struct symbol_table_head */
};

/* If two symbols have the same address, the one with the lower rank is kept. */
enum symbol_rank {
    SYMBOL_GLOBAL,
    SYMBOL_LOCAL,
    SYMBOL_WEAK,
    SYMBOL_NEWEST, /* the symbol that was added last is kept; must not be mixed with other ranks in a list */
};

void symbol_list_done(struct symbol_list *list);
/*
 * Adds a symbol and copies its name. A symbol of `size` 0 ends where the next one begins. Ignores empty names and
 * assembler labels ("$x", ".L1"). Returns -ENOMEM on failure.
 */
int symbol_list_add(struct symbol_list *list, uint64_t address, uint64_t size, enum symbol_rank rank, const char *name);
/*
 * Adds the address of an object that is not a function, so that a preceding symbol without a size ends there. Returns
 * -ENOMEM on failure.
 */
int symbol_list_add_end(struct symbol_list *list, uint64_t address);
/*
 * Creates a sealed memfd with a block of at most `max` bytes; the caller closes it. After that, only symbol_list_done()
 * may be called. Returns -ENOMEM, or an error from memfd_create(2), ftruncate(2), mmap(2) or fcntl(2).
 */
int symbol_list_seal(struct symbol_list *list, size_t max, int *ret_fd);

#endif
