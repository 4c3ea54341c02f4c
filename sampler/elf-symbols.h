/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions of an ELF file: from its own tables, from its compressed .gnu_debugdata and from the separate file of
 * its debug information, as libdwfl finds them; the names of C++ and Rust are made readable (demangle.h). Only the
 * symboliser's process may call it: the file may be anything.
 */
#ifndef SAMPLER_ELF_SYMBOLS_H
#define SAMPLER_ELF_SYMBOLS_H

#include "sampler/symbol-list.h"

/* Whether perfcountd was built with it. */
const char *elf_symbols_built(void);
/* What to do where elf_symbols_read() says -ENOPKG. */
const char *elf_symbols_remedy(void);
/* `fd` stays the caller's. -ENOPKG: libdw is not here; -EBADMSG: this is no ELF program or library. */
int elf_symbols_read(int fd, struct symbol_list *list);

#endif
