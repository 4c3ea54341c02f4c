/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/fake-symbols.h"

#define BUILD_ID (const unsigned char *)"\x01\x23\xab\xff"

static const struct fake_mapping mappings[] = {
    {0, {.end = UINT64_MAX, .file = "[kernel.kallsyms]", .number = 1}},
    {100, {0x10000, 0x20000, 0x1000, "/bin/app", BUILD_ID, 4, .number = 2}},
    {100, {0x7f0000, 0x800000, 0, "/lib/libx.so.1", NULL, 0, .number = 3}},
    {200, {0x50000, 0x60000, 0x1000, "/bin/app", BUILD_ID, 4, .number = 2}},
    {200, {0x90000, 0xa0000, 0, "//anon", NULL, 0, .number = 4}},
    {0},
};

static const struct fake_symbol list[] = {
    {"[kernel.kallsyms]", "sys_read", 0xffffffff81000000, 0x100},
    {"[kernel.kallsyms]", "entry", 0xffffffff82000000, 0x100},
    {"/bin/app", "main", 0x1000, 0x100},
    {"/bin/app", "operator()(a; b)", 0x1100, 0x100},
    {"/bin/app", "leaf", 0x1200, 0x100},
    {"/bin/app", "leaf", 0x1300, 0x100},
    {0},
};

void fake_symbols_init(struct symbols *symbols)
{
    *symbols = (struct symbols){.mappings = mappings, .symbols = list, .comm = "my app", .known = true};
}

static const char *find(const struct symbols *symbols, const struct mapping *mapping, uint64_t ip)
{
    uint64_t offset = ip - mapping->start + mapping->offset;

    for (const struct fake_symbol *symbol = symbols->symbols; symbol->name; symbol++)
        if (str_equal(symbol->file, mapping->file) && offset - symbol->offset < symbol->size)
            return symbol->name;
    return NULL;
}

void symbols_resolve(struct symbols *symbols, uint32_t pid, bool kernel, uint64_t ip, struct frame *ret)
{
    *ret = (struct frame){.ip = ip, .kernel = kernel};
    symbols->asked++;
    for (const struct fake_mapping *fake = symbols->mappings; fake->mapping.file; fake++)
        if (fake->pid == (kernel ? 0 : pid) && (kernel || pid) && ip >= fake->mapping.start && ip < fake->mapping.end) {
            symbols->found = fake->mapping;
            symbols->found.dso = (struct dso *)symbols;
            ret->mapping = &symbols->found;
            ret->symbol = symbols->known ? find(symbols, &fake->mapping, ip) : NULL;
        }
}

void symbols_keep(const struct frame *frame, uint32_t pid, struct symbols_kept *ret)
{
    *ret = (struct symbols_kept){.mapping = *frame->mapping, .pid = pid, .kernel = frame->kernel};
    ((struct symbols *)frame->mapping->dso)->kept++;
}

void symbols_release(struct symbols_kept *kept)
{
    ((struct symbols *)kept->mapping.dso)->kept--;
}

void symbols_resolve_kept(struct symbols *symbols, struct symbols_kept *kept, uint64_t ip, struct frame *ret)
{
    *ret = (struct frame){.ip = ip, .kernel = kept->kernel, .mapping = &kept->mapping};
    symbols->asked++;
    if (symbols->known)
        ret->symbol = find(symbols, &kept->mapping, ip);
}

bool symbols_pending(const struct symbols *symbols)
{
    return !symbols->known;
}

const char *symbols_comm(struct symbols *symbols, const struct record *sample)
{
    return sample->id.pid == UINT32_MAX ? "" : symbols->comm;
}
