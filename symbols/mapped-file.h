/* SPDX-License-Identifier: Apache-2.0 */
/* The file that a process has mapped, opened: the very file, wherever the process sees it. */
#ifndef SYMBOLS_MAPPED_FILE_H
#define SYMBOLS_MAPPED_FILE_H

#include "perf/sys.h"
#include "symbols/mapping.h"

/*
 * Tries the kernel's own link to the mapping, which also has a file that was deleted or replaced; the path as the
 * process sees it, which may be in a container; the path as we see it, where the process has ended. The caller's to
 * close. -ESTALE: another file is there now; -ENOENT and -EACCES: nothing can be opened; -EINVAL: it is not a regular
 * file. Where `sys` has an opener for what this process may not, the kernel's link is always there to be opened.
 */
int mapped_file_open(struct sys *sys, uint32_t pid, const struct mapping *mapping, int *ret_fd);
/* A copy of this process's own vdso, of which all processes of its kind have the same. */
int mapped_file_open_vdso(int *ret_fd);

#endif
