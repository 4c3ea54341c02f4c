/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The names of functions as in their source: of C++ (Itanium C++ ABI) and of Rust (v0, and legacy without its hash),
 * without parameters, as perf shows them (tools/perf/util/symbol-elf.c, DMGL_NO_OPTS).
 *
 * Only the symboliser's process may call it: the names are untrusted input, and a name may be made so that it expands
 * until the time of the request is over.
 */
#ifndef SYMBOLS_DEMANGLE_H
#define SYMBOLS_DEMANGLE_H

#include "base/util.h"

/* Longer names stay as they are. */
#define DEMANGLE_SIZE_MAX 4096

/* Whether perfcountd was built with it: "yes" or "no". */
const char *demangle_built(void);
/* Fills `ret_text`, of `size` bytes, with what fits, NUL-terminated. False, and nothing, for any other name. */
bool demangle(const char *name, char *ret_text, size_t size);

#endif
