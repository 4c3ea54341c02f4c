/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The symbols of one file or of the kernel as one block of memory: a head, the segments of the file, the symbols sorted
 * by address, their names.
 *
 * The symboliser's process (symboliser.h) writes it into a sealed memfd. Since that process has read untrusted input,
 * the receiver checks the whole block once, and never writes to it.
 */
#ifndef SYMBOLS_SYMBOL_TABLE_H
#define SYMBOLS_SYMBOL_TABLE_H

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

#endif
