/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file that is opened by a safe path: no user can have put another file in its place, except one of their own. The
 * opener opens the configuration's own files so, and the programs that probes are set in.
 */
#ifndef OPENER_SAFE_OPEN_H
#define OPENER_SAFE_OPEN_H

#include "perf/sys.h"

/*
 * Opens the regular file at `path` for reading; the caller closes it. Symbolic links are followed. The path is safe
 * where each directory, link and file on it belongs to root, or some of them to one other user to whom the file then
 * belongs too, and no directory can be written by others unless it is sticky, as /tmp is. -EBADRQC for any other path;
 * errors of open(2).
 */
int opener_safe_path_open(struct sys *sys, const char *path);
/*
 * The same for a file that must be of `user`, and all that is on the path of that user or of root. Such a user may
 * share directories with a group, whose members can then put another file of that user's there, and no file of their
 * own. -EACCES for a path through a directory of root's that such a user may not enter.
 */
int opener_safe_path_open_of(struct sys *sys, const char *path, uid_t user);

#endif
