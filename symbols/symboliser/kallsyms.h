/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel's functions, its modules' among them, as /proc/kallsyms lists them (proc(5)). */
#ifndef SYMBOLS_SYMBOLISER_KALLSYMS_H
#define SYMBOLS_SYMBOLISER_KALLSYMS_H

#include "symbols/symboliser/symbol-list.h"

/*
 * One line, without its newline, which is changed: "ffffffff81000000 T name\t[module]"; other lines are ignored.
 * `*ret_shown` becomes true where an address is not hidden.
 */
int kallsyms_parse_line(char *line, struct symbol_list *list, bool *ret_shown);
/* All of a file. -EACCES where the kernel hides its addresses (kernel.kptr_restrict). */
int kallsyms_read(int fd, struct symbol_list *list);

#endif
