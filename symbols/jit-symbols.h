/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions that a process made at run time, from its own list: lines "START SIZE NAME" with hexadecimal numbers
 * (tools/perf/Documentation/jit-interface.txt). Only the symboliser's process reads it: the list is untrusted input.
 */
#ifndef SYMBOLS_JIT_SYMBOLS_H
#define SYMBOLS_JIT_SYMBOLS_H

#include "symbols/symbol-list.h"

#define JIT_SYMBOLS_BYTES_MAX ((size_t)16 << 20) /* of a longer list, only the end is read, which is the newest */

/* `fd` stays the caller's. Other lines are skipped. The last of several functions at one address is the valid one. */
int jit_symbols_read(int fd, struct symbol_list *list);
/* A line without its newline. Pure. -ENOMEM. */
int jit_symbols_parse_line(const char *line, struct symbol_list *list);

#endif
