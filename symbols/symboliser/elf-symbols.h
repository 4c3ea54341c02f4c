/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions of an ELF file: from its own tables and its compressed .gnu_debugdata, as libdwfl finds them; a
 * separate file of debug information is not looked for, since nothing is opened here. The names of C++ and Rust are
 * made readable (demangle.h). Only the symboliser's process may call it: the file may be anything.
 */
#ifndef SYMBOLS_SYMBOLISER_ELF_SYMBOLS_H
#define SYMBOLS_SYMBOLISER_ELF_SYMBOLS_H

#include "symbols/symboliser/symbol-list.h"

/* Whether perfcountd was built with it. */
const char *elf_symbols_built(void);
/* What to do where elf_symbols_read() says -ENOPKG. */
const char *elf_symbols_remedy(void);

/* libdw, loaded with all that it loads in its turn; NULL where it is not here. Once, and never given back. */
struct elf_library;
const struct elf_library *elf_symbols_load(void);

/* `fd` stays the caller's. -ENOPKG: `library` is NULL; -EBADMSG: this is no ELF program or library. */
int elf_symbols_read(const struct elf_library *library, int fd, struct symbol_list *list);

#endif
