/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads lists of functions in text form: /proc/kallsyms (proc_kallsyms(5)) and perf-PID.map, which a process writes for
 * the functions that it compiles at run time: lines "START SIZE NAME" with hexadecimal numbers
 * (tools/perf/Documentation/jit-interface.txt).
 *
 * A perf-PID.map is untrusted input and may be read only in the symboliser's process (symbols/symboliser.h).
 */
#ifndef SYMBOLS_SYMBOL_LISTS_H
#define SYMBOLS_SYMBOL_LISTS_H

#include "symbols/symbol-table.h"

/* If a perf-PID.map is longer, only this many bytes at its end, which hold the newest functions, are read. */
#define JIT_SYMBOLS_BYTES_MAX ((size_t)16 << 20)

/*
 * Reads a perf-PID.map. The caller keeps `fd`. Malformed lines are skipped. If several functions have the same address,
 * the last is kept. Returns -ENOMEM, or an error from fstat(2) or fseeko(3).
 */
int jit_symbols_read(int fd, struct symbol_list *list);
/*
 * Reads /proc/kallsyms. The caller keeps `fd`. Returns -EACCES if the kernel hides all addresses
 * (kernel.kptr_restrict), -EBADMSG if a line is longer than 64 KiB, -ENOMEM, or an error from read(2).
 */
int kallsyms_read(int fd, struct symbol_list *list);

#endif
