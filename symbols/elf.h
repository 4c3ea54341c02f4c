/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The names of functions as in their source: of C++ (Itanium C++ ABI) and of Rust (v0, and legacy without its hash),
 * without parameters, as perf shows them (tools/perf/util/symbol-elf.c, DMGL_NO_OPTS).
 *
 * Only the symboliser's process may call it: the names are untrusted input, and a name may be made so that it expands
 * until the time of the request is over.
 *
 * The functions of an ELF file, as libdwfl finds them in its tables and its compressed .gnu_debugdata. Separate files
 * with debug information are not read, since nothing is opened here. Names of C++ and Rust are made readable
 * (demangle.h). Only the symboliser's process may call it: the file is untrusted input.
 */
#ifndef SYMBOLS_ELF_H
#define SYMBOLS_ELF_H

#include "base/util.h"
#include "symbols/symbol-table.h"

/* Longer names stay as they are. */
#define DEMANGLE_SIZE_MAX 4096

/* Whether perfcountd was built with it: "yes" or "no". */
const char *demangle_built(void);
/* Fills `ret_text`, of `size` bytes, with what fits, NUL-terminated. False, and nothing, for any other name. */
bool demangle(const char *name, char *ret_text, size_t size);

/* Whether perfcountd was built with it. */
const char *elf_symbols_built(void);
/* The remedy for -ENOPKG of elf_symbols_read(), in a sentence. */
const char *elf_symbols_remedy(void);

/* Loads libdw and the libraries that it needs, for as long as the process lives; NULL if it cannot be loaded. */
struct elf_library;
const struct elf_library *elf_symbols_load(void);

/* `fd` stays the caller's. -ENOPKG: `library` is NULL; -EBADMSG: the file is not an ELF program or library. */
int elf_symbols_read(const struct elf_library *library, int fd, struct symbol_list *list);

#endif
