/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files that the opener opens: a table of the shapes of their paths. The shape alone says what a path names. No
 * shape has room for dots, so that a path cannot leave its directory. Pure.
 */
#ifndef OPENER_PATH_H
#define OPENER_PATH_H

#include "base/util.h"

#define OPENER_PATH_MAX 256

enum opener_file_kind {
    OPENER_FILE_UNKNOWN, /* no shape has it, or only one for a daemon that samples */
    OPENER_FILE_TRACEFS,
    OPENER_FILE_PROC,
};

enum opener_file_kind opener_path_kind(const char *path, bool sampling);
/* Whether the daemon asks the opener first: every process may open the file, but reads less without privileges. */
bool opener_path_asks_opener_first(const char *path, bool sampling);

#endif
