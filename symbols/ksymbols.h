/* SPDX-License-Identifier: Apache-2.0 */
/* Functions that the kernel made while it ran, mostly BPF programs, from KSYMBOL records. Bounded. */
#ifndef SYMBOLS_KSYMBOLS_H
#define SYMBOLS_KSYMBOLS_H

#include "base/util.h"

#define KSYMBOLS_MAX 2048

struct ksymbols {
    struct ksymbol {
        uint64_t address;
        uint32_t length;
        char name[68]; /* KSYM_NAME_LEN is 512, those of BPF are shorter */
    } * symbols;       /* sorted */
    size_t n;
};

void ksymbols_done(struct ksymbols *ksymbols);
/* Replaces a symbol at the same address. If there are too many, it is not added. */
void ksymbols_add(struct ksymbols *ksymbols, uint64_t address, uint32_t length, const char *name);
void ksymbols_remove(struct ksymbols *ksymbols, uint64_t address);
const char *ksymbols_find(const struct ksymbols *ksymbols, uint64_t address, uint64_t *ret_offset);

#endif
