/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which files the opener opens: a table of the shapes of their paths. What a path names is in its shape alone; none has
 * room for dots, so that it stays where it is. Pure.
 */
#ifndef OPENER_PATH_H
#define OPENER_PATH_H

#include "base/util.h"

#define OPENER_PATH_MAX 256

enum opener_file_kind {
    OPENER_FILE_UNKNOWN, /* it is not known, or not for who does not sample */
    OPENER_FILE_TRACEFS,
    OPENER_FILE_PROC,
    OPENER_FILE_EXECUTABLE, /* procfs's link to what a process has mapped */
    OPENER_FILE_JIT_MAP,    /* the list of what a process makes at run time: perf/jit-map.h */
};

enum opener_file_kind opener_path_kind(const char *path, bool sampling);
/* Whether anybody may open it, and who has privileges reads more of it. */
bool opener_path_asks_opener_first(const char *path, bool sampling);
/* Whether the daemon never opens it itself. */
bool opener_path_asks_opener_only(const char *path, bool sampling);

#endif
