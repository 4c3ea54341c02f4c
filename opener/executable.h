/* SPDX-License-Identifier: Apache-2.0 */
/* A program or library that runs: the file behind /proc/PID/map_files/START-END, where it is one. */
#ifndef OPENER_EXECUTABLE_H
#define OPENER_EXECUTABLE_H

#include "perf/sys.h"

/*
 * `path` is of the shape of OPENER_FILE_EXECUTABLE. The file, opened for reading; the caller's to close. -EBADRQC where
 * it is not a regular file or the process cannot execute what it has mapped there: data that it maps is its own. Errors
 * of open(2), ENOENT above all.
 */
int opener_executable_open(struct sys *sys, const char *path);

/*
 * Whether a part of /proc/PID/maps that begins with a line has the range START-END, and may be executed there. Parts
 * are of whole lines; 1: yes, 0: not in this part, -EBADRQC: no. Pure.
 */
int opener_executable_find(const char *lines, size_t size, uint64_t start, uint64_t end);

#endif
