/* SPDX-License-Identifier: Apache-2.0 */
/* Replaces elf-symbols.c if perfcountd is built without libdw: see elf-symbols.h. */
#include "symbols/elf.h"

const char *elf_symbols_built(void)
{
    return "no";
}

const char *elf_symbols_remedy(void)
{
    return "the symbols of programs are not known, since libdw is not built into this perfcountd (configure "
           "--with-libdw)";
}

const struct elf_library *elf_symbols_load(void)
{
    return NULL;
}

int elf_symbols_read(const struct elf_library *library, int fd, struct symbol_list *list)
{
    (void)library;
    (void)fd;
    (void)list;
    return -ENOPKG;
}
