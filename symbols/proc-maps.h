/* SPDX-License-Identifier: Apache-2.0 */
/* A line of /proc/PID/maps (proc(5)). Pure. */
#ifndef SYMBOLS_PROC_MAPS_H
#define SYMBOLS_PROC_MAPS_H

#include "symbols/mapping.h"

/*
 * Parses a line without its newline, and changes it: the name of the file points into it, unescaped. A mapping without
 * a name gets perf's name for it, "//anon". -EBADMSG for any other line.
 */
int proc_maps_parse_line(char *line, struct mapping *ret);
/* Whether the name is of memory without a file, by perf's rule (tools/perf/util/map.c, is_anon_memory()). */
bool proc_maps_is_anonymous(const char *file);
/* Removes " (deleted)", which the kernel appends to the name of a file that was deleted. */
void proc_maps_strip_deleted(char *file);

#endif
