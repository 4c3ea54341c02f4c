/* SPDX-License-Identifier: Apache-2.0 */
#include "symbols/symbol-table.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

/* --- table --- */

#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE)
/* Symbols can be nested, so this many symbols that start before an address are checked for one that covers it. */
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
    if (seals < 0 || (seals & SEALS) != SEALS) /* else the file could shrink (SIGBUS) */
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

/* --- list --- */

#define SYMBOLS_MAX 2000000                /* further symbols are ignored */
#define CHUNK (64 * 1024)                  /* number of bytes of names to copy at a time */
#define NAMELESS ((UINT32_C(1) << 30) - 1) /* `name` of the entries that symbol_list_add_end() makes */
/* A function of unknown size is assumed to have at most this many bytes. */
#define SIZE_GUESS_MAX (64 * 1024)

void symbol_list_done(struct symbol_list *list)
{
    free(list->symbols);
    buffer_done(&list->names);
    *list = (struct symbol_list){0};
}

/* Returns the number of bytes that the symbol takes in the block. */
static size_t cost(const struct symbol_list *list, const struct listed_symbol *symbol)
{
    return sizeof(struct symbol_entry) + strlen(list->names.data + symbol->name) + 1;
}

static int list_append(struct symbol_list *list, struct listed_symbol symbol)
{
    if (list->n >= SYMBOLS_MAX) {
        list->was_cut = true;
        return 0;
    }
    if (array_grow(&list->symbols, list->n) < 0)
        return -ENOMEM;
    list->symbols[list->n++] = symbol;
    return 0;
}

int symbol_list_add_end(struct symbol_list *list, uint64_t address)
{
    return list_append(list, (struct listed_symbol){.address = address, .name = NAMELESS, .rank = SYMBOL_WEAK});
}

static size_t leading_underscores(const char *name)
{
    return strspn(name, "_");
}

/*
 * Sorts by address; symbols at one address are sorted by perf's rules, the best first (tools/perf/util/symbol.c,
 * choose_best_symbol()). `userdata` is the start of the names.
 */
static int compare_addresses(const void *a, const void *b, void *userdata)
{
    const struct listed_symbol *one = a, *other = b;
    const char *names = userdata;

    if (one->address != other->address)
        return one->address < other->address ? -1 : 1;
    if (one->name == NAMELESS || other->name == NAMELESS)
        return (one->name == NAMELESS) - (other->name == NAMELESS);
    if (one->rank == SYMBOL_NEWEST && other->rank == SYMBOL_NEWEST)
        return (one->name < other->name) - (one->name > other->name);
    if (!one->size != !other->size)
        return one->size ? -1 : 1;
    if ((one->rank == SYMBOL_WEAK) != (other->rank == SYMBOL_WEAK))
        return one->rank == SYMBOL_WEAK ? 1 : -1;
    if (one->rank != other->rank)
        return one->rank < other->rank ? -1 : 1;
    const char *name = names + one->name, *other_name = names + other->name;
    size_t underscores = leading_underscores(name), other_underscores = leading_underscores(other_name);
    if (underscores != other_underscores)
        return underscores < other_underscores ? -1 : 1;
    size_t size = strlen(name), other_size = strlen(other_name);
    if (size != other_size)
        return size > other_size ? -1 : 1;
    return strcmp(name, other_name);
}

static int compare_sizes(const void *a, const void *b)
{
    const struct listed_symbol *one = a, *other = b;
    return (one->size < other->size) - (one->size > other->size);
}

static void list_sort(struct symbol_list *list)
{
    if (list->n)
        qsort_r(list->symbols, list->n, sizeof(list->symbols[0]), compare_addresses, list->names.data);
}

/*
 * Keeps the best symbol at each address, sets its size if unknown, and drops the entries of symbol_list_add_end(). The
 * list must be sorted by address.
 */
static void list_merge(struct symbol_list *list)
{
    size_t n = 0;

    for (size_t i = 0, next; i < list->n; i = next) {
        struct listed_symbol *symbol = &list->symbols[i];
        for (next = i + 1; next < list->n && list->symbols[next].address == symbol->address;)
            next++;
        if (symbol->name == NAMELESS)
            continue;
        uint64_t room = next < list->n ? list->symbols[next].address - symbol->address : SIZE_GUESS_MAX;
        if (symbol->size == 0)
            symbol->size = (uint32_t)MIN(room, SIZE_GUESS_MAX);
        list->symbols[n++] = *symbol;
    }
    list->n = n;
}

/* Drops the smallest symbols until a block of `max` bytes can hold the rest. Returns the size of the block. */
static size_t list_fit(struct symbol_list *list, size_t max)
{
    size_t head = sizeof(struct symbol_table_head) + list->n_segments * sizeof(list->segments[0]), total = head;

    for (size_t i = 0; i < list->n; i++)
        total += cost(list, &list->symbols[i]);
    if (total <= max)
        return total;
    qsort(list->symbols, list->n, sizeof(list->symbols[0]), compare_sizes);
    size_t n = 0;
    for (total = head; n < list->n && total + cost(list, &list->symbols[n]) <= max; n++)
        total += cost(list, &list->symbols[n]);
    list->n = n;
    list->was_cut = true;
    list->smallest = n ? list->symbols[n - 1].size : 0;
    list_sort(list);
    return total;
}

static int compare_names(const void *a, const void *b)
{
    const struct listed_symbol *one = a, *other = b;
    return (one->name > other->name) - (one->name < other->name);
}

/* Removes the names of dropped symbols. Leaves the list sorted by name offset. */
static void list_compact_names(struct symbol_list *list)
{
    char *names = list->names.data;
    size_t at = 0;

    if (list->n)
        qsort(list->symbols, list->n, sizeof(list->symbols[0]), compare_names);
    for (size_t i = 0; i < list->n; i++) {
        size_t size = strlen(names + list->symbols[i].name) + 1;
        memmove(names + at, names + list->symbols[i].name, size);
        list->symbols[i].name = (uint32_t)at & NAMELESS;
        at += size;
    }
    list->names.size = at;
}

/*
 * Limits the memory for large files while symbols are still being added. Symbols without a size get one here, so they
 * end at the next symbol that has been added so far.
 */
static void list_make_room(struct symbol_list *list)
{
    list_sort(list);
    list_merge(list);
    list_fit(list, list->max);
    list_compact_names(list);
}

static size_t list_bytes(const struct symbol_list *list)
{
    return list->n * sizeof(list->symbols[0]) + list->names.size;
}

int symbol_list_add(struct symbol_list *list, uint64_t address, uint64_t size, enum symbol_rank rank, const char *name)
{
    size_t length = strlen(name);

    if (length == 0 || name[0] == '$' || str_starts(name, ".L")) /* mapping symbols ("$x") and local labels */
        return 0;
    if ((size && size < list->smallest) || list->names.size > NAMELESS - SYMBOL_NAME_MAX - 1) {
        list->was_cut = true;
        return 0;
    }
    struct listed_symbol symbol = {
        .address = address,
        .size = (uint32_t)MIN(size, UINT32_MAX),
        .name = (uint32_t)list->names.size & NAMELESS,
        .rank = rank & 3,
    };
    buffer_append(&list->names, name, MIN(length, SYMBOL_NAME_MAX));
    buffer_append_char(&list->names, '\0');
    int r = list->names.failed ? -ENOMEM : list_append(list, symbol);
    if (r == 0 && list->max && list_bytes(list) > list->max + list->max / 4)
        list_make_room(list);
    return r;
}

/* Copies the names, and frees each page as soon as it is copied, so that memory never holds two complete copies. */
static void move_names(struct symbol_list *list, char *to)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    const struct buffer *names = &list->names;

    for (size_t at = 0, size; at < names->size; at += size) {
        size = MIN(names->size - at, (size_t)CHUNK);
        memcpy(to + at, names->data + at, size);
        uintptr_t start = ((uintptr_t)(names->data + at) + page - 1) & ~(page - 1);
        uintptr_t end = (uintptr_t)(names->data + at + size) & ~(page - 1);
        if (start < end)
            madvise((void *)start, end - start, MADV_DONTNEED);
    }
    buffer_done(&list->names);
}

static void fill_block(struct symbol_list *list, char *block)
{
    struct symbol_table_head head = {
        .magic = SYMBOL_TABLE_MAGIC,
        .n_segments = (uint32_t)list->n_segments,
        .n_symbols = (uint32_t)list->n,
        .was_cut = list->was_cut,
        .is_stripped = list->is_stripped,
        .build_id_size = (uint32_t)list->build_id_size,
    };
    size_t segments_size = list->n_segments * sizeof(list->segments[0]);
    struct symbol_entry *symbols = (struct symbol_entry *)(block + sizeof(head) + segments_size);

    head.names_size = (uint32_t)list->names.size;
    memcpy(head.build_id, list->build_id, list->build_id_size);
    memcpy(block, &head, sizeof(head));
    memcpy(block + sizeof(head), list->segments, segments_size);
    for (size_t i = 0; i < list->n; i++) {
        const struct listed_symbol *symbol = &list->symbols[i];
        symbols[i] = (struct symbol_entry){symbol->address, symbol->size, symbol->name};
    }
    move_names(list, (char *)(symbols + list->n));
}

int symbol_list_seal(struct symbol_list *list, size_t max, int *ret_fd)
{
    if (list->names.failed)
        return -ENOMEM;
    list_sort(list);
    list_merge(list);
    size_t size = list_fit(list, MIN(max, SYMBOL_TABLE_SIZE_MAX));
    list_compact_names(list);
    list_sort(list);
    _cleanup_(closep) int fd = memfd_create("symbols", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0 || ftruncate(fd, (off_t)size) < 0)
        return -errno;
    void *block = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (block == MAP_FAILED)
        return -errno;
    fill_block(list, block);
    munmap(block, size); /* F_SEAL_WRITE fails with EBUSY while there is a writable mapping */
    if (fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL) < 0)
        return -errno;
    *ret_fd = steal_fd(&fd);
    return 0;
}
