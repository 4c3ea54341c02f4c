/* SPDX-License-Identifier: Apache-2.0 */
/* A line of /proc/PID/maps (proc(5)). Pure. */
#ifndef SYMBOLS_PROC_MAPS_H
#define SYMBOLS_PROC_MAPS_H

#include "symbols/mapping.h"

/*
 * Takes a line without its newline apart, and changes it: the file's name points into it, as the kernel escaped it no
 * more. -EBADMSG where it is no such line. A mapping without a name has the file "//anon", as perf calls it.
 */
int proc_maps_parse_line(char *line, struct mapping *ret);
/* Whether such a name is that of memory without a file, as perf has it (tools/perf/util/map.c, is_anon_memory()). */
bool proc_maps_is_anonymous(const char *file);
/* Drops " (deleted)" from a name, which the kernel appends to one that is no more. */
void proc_maps_strip_deleted(char *file);

#endif
