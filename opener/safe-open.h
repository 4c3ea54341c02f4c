/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opens a file by a safe path, which ensures that users can only have replaced the file with another file of their own.
 * The opener opens the configuration's own files, and the programs in which it sets probes, by safe paths.
 */
#ifndef OPENER_SAFE_OPEN_H
#define OPENER_SAFE_OPEN_H

#include "perf/sys.h"

/*
 * Opens the regular file at `path` for reading; the caller closes the descriptor. Symbolic links are followed. A path
 * is safe if each directory, link and file along it belongs to root or to one other user, who must then also own the
 * file. No directory except sticky ones, like /tmp, may be writable by the group or by others. Returns -EBADRQC for any
 * other path, or an error from open(2). Allocates nothing.
 */
int opener_safe_path_open(struct sys *sys, const char *path);
/*
 * Opens a file that must belong to `user`, by a path along which everything must belong to that user or to root. The
 * user may share directories with a group, whose members can then replace the file with another file of the user, but
 * not with one of their own. Returns -EACCES if the path leads through a root-owned directory that the user may not
 * enter.
 */
int opener_safe_path_open_of(struct sys *sys, const char *path, uid_t user);

#endif
