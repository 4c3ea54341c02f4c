/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists of functions that are text: /proc/kallsyms and perf-PID.map.
 *
 * The functions that a process made at run time, from its own list: lines "START SIZE NAME" with hexadecimal numbers
 * (tools/perf/Documentation/jit-interface.txt). Only the symboliser's process reads it: the list is untrusted input.
 *
 * The functions of the kernel and its modules, as /proc/kallsyms lists them (proc(5)).
 */
#ifndef SYMBOLS_SYMBOL_LISTS_H
#define SYMBOLS_SYMBOL_LISTS_H

#include "symbols/symbol-table.h"

#define JIT_SYMBOLS_BYTES_MAX ((size_t)16 << 20) /* of a longer list, only the end is read, which is the newest */

/* `fd` stays the caller's. Other lines are skipped. The last of several functions at one address is the valid one. */
int jit_symbols_read(int fd, struct symbol_list *list);
/* -EACCES if the kernel hides its addresses (kernel.kptr_restrict). */
int kallsyms_read(int fd, struct symbol_list *list);

#endif
