/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opens a file by a safe path: a path on which no user can have replaced the file, except by a file of their own. The
 * opener opens the configuration's own files this way, and the programs that probes are set in.
 */
#ifndef OPENER_SAFE_OPEN_H
#define OPENER_SAFE_OPEN_H

#include "perf/sys.h"

/*
 * Opens the regular file at `path` for reading; the caller closes it. Symbolic links are followed. The path is safe if
 * each directory, link and file on it belongs to root or to one other user, who must then also own the file, and if no
 * directory is writable for others unless it is sticky, like /tmp. Returns -EBADRQC for any other path; errors of
 * open(2). Allocates nothing.
 */
int opener_safe_path_open(struct sys *sys, const char *path);
/*
 * The same for a file that must belong to `user`, while everything on its path must belong to that user or to root. The
 * user may share directories with a group, whose members can then replace the file by another file of that user, but
 * not by one of their own. Returns -EACCES for a path through a directory of root that the user may not enter.
 */
int opener_safe_path_open_of(struct sys *sys, const char *path, uid_t user);

#endif
