/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of the kernel and its modules, as /proc/kallsyms lists them (proc(5)). */
#ifndef SYMBOLS_KALLSYMS_H
#define SYMBOLS_KALLSYMS_H

#include "symbols/symbol-list.h"

/*
 * Adds the function of one line, "ffffffff81000000 T name\t[module]" without its newline, and changes the line. Ignores
 * other lines. Sets `*ret_shown` if the address is not hidden.
 */
int kallsyms_parse_line(char *line, struct symbol_list *list, bool *ret_shown);
/* -EACCES if the kernel hides its addresses (kernel.kptr_restrict). */
int kallsyms_read(int fd, struct symbol_list *list);

#endif
