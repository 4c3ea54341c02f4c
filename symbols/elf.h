/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the functions of an ELF file with libdwfl: from .symtab, .dynsym and the compressed .gnu_debugdata. This module
 * opens no files: a separate debug file is read like any other file (symbols/dso.h).
 *
 * Names of C++ (Itanium C++ ABI) and Rust (v0, and legacy names without their hash) are demangled. Demangled names are
 * shown without parameters, as in perf (tools/perf/util/symbol-elf.c, DMGL_NO_OPTS).
 *
 * Files and names are untrusted input: demangle() and elf_symbols_read() may be called only in the symboliser's process
 * (symbols/symboliser.h). A name can be crafted to expand until the time limit of the request.
 */
#ifndef SYMBOLS_ELF_H
#define SYMBOLS_ELF_H

#include "base/util.h"
#include "symbols/symbol-table.h"

/* Maximum bytes including the NUL; longer names are not demangled. */
#define DEMANGLE_SIZE_MAX 4096

/* Whether perfcountd was built with libiberty: "yes" or "no". */
const char *demangle_built(void);
/*
 * Writes the demangled name to `ret_text`, cut to `size` bytes and NUL-terminated. Returns false, with `ret_text`
 * untouched, if `name` is not a mangled C++ or Rust name.
 */
bool demangle(const char *name, char *ret_text, size_t size);

/* Whether perfcountd was built with libdw: "yes" or "no". */
const char *elf_symbols_built(void);
/* A message that tells the user how to fix -ENOPKG from elf_symbols_read(). */
const char *elf_symbols_remedy(void);

/*
 * Loads libdw and the libraries that it needs. The libraries stay loaded until the process exits. Returns NULL if libdw
 * cannot be loaded.
 */
struct elf_library;
const struct elf_library *elf_symbols_load(void);

/*
 * Adds the functions, the segments and the build ID of the file to `list`. The caller keeps `fd`. Returns -ENOPKG if
 * `library` is NULL, -EBADMSG if the file is not an ELF executable or shared object, -ENOMEM on failure.
 */
int elf_symbols_read(const struct elf_library *library, int fd, struct symbol_list *list);

#endif
