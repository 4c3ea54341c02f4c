/* SPDX-License-Identifier: Apache-2.0 */
/* A block of symbols: see symbol-table.h. */
#include "symbols/symbol-table.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE)
/* Symbols may lie within others: the number of symbols before an address that are tried. */
#define NESTED_MAX 8

static bool symbols_are_sound(const struct symbol_table *table)
{
    for (uint32_t i = 0; i < table->head->n_symbols; i++) {
        const struct symbol_entry *symbol = &table->symbols[i];
        if (symbol->name >= table->head->names_size)
            return false;
        if (i && symbol->address <= symbol[-1].address)
            return false;
    }
    return true;
}

int symbol_table_check(const void *block, size_t size, struct symbol_table *ret)
{
    const struct symbol_table_head *head = block;

    if (size < sizeof(*head) || size > SYMBOL_TABLE_SIZE_MAX || head->magic != SYMBOL_TABLE_MAGIC)
        return -EBADMSG;
    if (head->n_segments > SYMBOL_SEGMENTS_MAX || head->build_id_size > BUILD_ID_MAX)
        return -EBADMSG;
    uint64_t segments_size = head->n_segments * (uint64_t)sizeof(struct symbol_segment);
    uint64_t symbols_size = head->n_symbols * (uint64_t)sizeof(struct symbol_entry);
    if (sizeof(*head) + segments_size + symbols_size + head->names_size != size)
        return -EBADMSG;
    const char *at = (const char *)block + sizeof(*head);
    struct symbol_table table = {
        .head = head,
        .segments = (const struct symbol_segment *)at,
        .symbols = (const struct symbol_entry *)(at + segments_size),
        .names = at + segments_size + symbols_size,
        .size = size,
    };
    if (head->names_size && table.names[head->names_size - 1] != '\0')
        return -EBADMSG;
    if (!symbols_are_sound(&table))
        return -EBADMSG;
    *ret = table;
    return 0;
}

int symbol_table_open(int fd, struct symbol_table *ret)
{
    struct stat status;

    int seals = fcntl(fd, F_GET_SEALS);
    if (seals < 0 || (seals & SEALS) != SEALS) /* a file that can shrink may cause SIGBUS */
        return -EBADMSG;
    if (fstat(fd, &status) < 0)
        return -errno;
    if (status.st_size <= 0 || (uint64_t)status.st_size > SYMBOL_TABLE_SIZE_MAX)
        return -EBADMSG;
    size_t size = (size_t)status.st_size;
    void *block = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (block == MAP_FAILED)
        return -errno;
    int r = symbol_table_check(block, size, ret);
    if (r < 0)
        munmap(block, size);
    return r;
}

void symbol_table_close(struct symbol_table *table)
{
    if (table->head)
        munmap((void *)table->head, table->size);
    *table = (struct symbol_table){0};
}

bool symbol_table_address(const struct symbol_table *table, uint64_t offset, uint64_t *ret)
{
    for (uint32_t i = 0; i < table->head->n_segments; i++) {
        const struct symbol_segment *segment = &table->segments[i];
        if (offset >= segment->offset && offset - segment->offset < segment->size) {
            *ret = segment->address + (offset - segment->offset);
            return true;
        }
    }
    return false;
}

const char *symbol_table_find(const struct symbol_table *table, uint64_t address, uint64_t *ret_offset)
{
    const struct symbol_entry *symbols = table->symbols;
    size_t behind = array_search(table->head->n_symbols, i, symbols[i].address <= address);

    for (size_t i = 0; i < NESTED_MAX && behind > 0; i++) {
        const struct symbol_entry *symbol = &symbols[--behind];
        if (address - symbol->address < symbol->size) {
            *ret_offset = address - symbol->address;
            return table->names + symbol->name;
        }
    }
    return NULL;
}
