/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The names of functions as who wrote them knows them: those of C++ (Itanium C++ ABI) and of Rust (v0, and legacy
 * without its hash), without parameters, as perf shows them (tools/perf/util/symbol-elf.c, DMGL_NO_OPTS).
 *
 * Only the symboliser's process may call it: the names are a stranger's, and one that was made to may expand for so
 * long that the time of the request is over.
 */
#ifndef SYMBOLS_SYMBOLISER_DEMANGLE_H
#define SYMBOLS_SYMBOLISER_DEMANGLE_H

#include "base/util.h"

/* Longer ones stay as they are. */
#define DEMANGLE_SIZE_MAX 4096

/* Whether perfcountd was built with it: "yes" or "no". */
const char *demangle_built(void);
/* Fills `ret_text`, of `size` bytes, with what fits, NUL-terminated. False, and nothing, where `name` is no such name.
 */
bool demangle(const char *name, char *ret_text, size_t size);

#endif
