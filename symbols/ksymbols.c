/* SPDX-License-Identifier: Apache-2.0 */
/* Functions that the kernel made: see ksymbols.h. */
#include "symbols/ksymbols.h"

void ksymbols_done(struct ksymbols *ksymbols)
{
    free(ksymbols->symbols);
    *ksymbols = (struct ksymbols){0};
}

/* The index of the first symbol that begins behind the address. */
static size_t ksymbols_search(const struct ksymbols *ksymbols, uint64_t address)
{
    return array_search(ksymbols->n, i, ksymbols->symbols[i].address <= address);
}

void ksymbols_remove(struct ksymbols *ksymbols, uint64_t address)
{
    size_t at = ksymbols_search(ksymbols, address);

    if (at == 0 || ksymbols->symbols[at - 1].address != address)
        return;
    memmove(&ksymbols->symbols[at - 1], &ksymbols->symbols[at], (ksymbols->n - at) * sizeof(ksymbols->symbols[0]));
    ksymbols->n--;
}

void ksymbols_add(struct ksymbols *ksymbols, uint64_t address, uint32_t length, const char *name)
{
    struct ksymbol symbol = {.address = address, .length = length};
    size_t size = MIN(strlen(name), sizeof(symbol.name) - 1);

    ksymbols_remove(ksymbols, address);
    if (ksymbols->n >= KSYMBOLS_MAX || array_grow(&ksymbols->symbols, ksymbols->n) < 0)
        return;
    memcpy(symbol.name, name, size);
    size_t at = ksymbols_search(ksymbols, address);
    memmove(&ksymbols->symbols[at + 1], &ksymbols->symbols[at], (ksymbols->n++ - at) * sizeof(symbol));
    ksymbols->symbols[at] = symbol;
}

const char *ksymbols_find(const struct ksymbols *ksymbols, uint64_t address, uint64_t *ret_offset)
{
    size_t at = ksymbols_search(ksymbols, address);

    if (at == 0 || address - ksymbols->symbols[at - 1].address >= ksymbols->symbols[at - 1].length)
        return NULL;
    *ret_offset = address - ksymbols->symbols[at - 1].address;
    return ksymbols->symbols[at - 1].name;
}
