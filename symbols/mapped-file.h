/* SPDX-License-Identifier: Apache-2.0 */
/* Opens the file that a process has mapped: the very same file, wherever the process sees it. */
#ifndef SYMBOLS_MAPPED_FILE_H
#define SYMBOLS_MAPPED_FILE_H

#include "perf/sys.h"
#include "symbols/mapping.h"

/*
 * Tries the kernel's link to the mapping, which also leads to a file that was deleted or replaced; then the path as the
 * process sees it, perhaps in a container; then the path as this process sees it, for a process that has ended. The
 * caller closes *ret_fd. -ESTALE: another file is at the path now; -ENOENT and -EACCES: nothing can be opened; -EINVAL:
 * it is not a regular file. With an opener in `sys`, the kernel's link can always be opened.
 */
int mapped_file_open(struct sys *sys, uint32_t pid, const struct mapping *mapping, int *ret_fd);
/* A copy of the vdso of this process. All processes of the same kind have an equal one. */
int mapped_file_open_vdso(int *ret_fd);

#endif
