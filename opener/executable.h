/* SPDX-License-Identifier: Apache-2.0 */
/* A program or library that a process executes: the file behind /proc/PID/map_files/START-END. */
#ifndef OPENER_EXECUTABLE_H
#define OPENER_EXECUTABLE_H

#include "perf/sys.h"

/*
 * Opens the file for reading; the caller closes it. `path` has the shape of OPENER_FILE_EXECUTABLE. -EBADRQC where it
 * is not a regular file, or the mapping is not executable: data that a process maps stays its own. Errors of open(2),
 * mostly -ENOENT.
 */
int opener_executable_open(struct sys *sys, const char *path);

/*
 * Looks for the range START-END in whole lines of /proc/PID/maps: 1 where it is executable, -EBADRQC where it is not, 0
 * where none of the lines has it. Pure.
 */
int opener_executable_find(const char *lines, size_t size, uint64_t start, uint64_t end);

#endif
