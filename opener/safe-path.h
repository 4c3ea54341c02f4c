/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The configuration's own files, as the opener opens them for a daemon that may not: by a path on which nobody could
 * put another file in the way who could not read that one anyway.
 */
#ifndef OPENER_SAFE_PATH_H
#define OPENER_SAFE_PATH_H

#include "perf/sys.h"

/*
 * Opens the regular file at `path` for reading; the caller's to close. Symbolic links are followed. All that the path
 * leads through is root's, or one and the same user's to whom the file then belongs too; and no directory on the way
 * can be written by others, unless it is sticky, as /tmp is. -EBADRQC where that is not so; errors of open(2).
 */
int opener_safe_path_open(struct sys *sys, const char *path);

#endif
