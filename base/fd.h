/* SPDX-License-Identifier: Apache-2.0 */
/* The descriptors of this process. */
#ifndef BASE_FD_H
#define BASE_FD_H

#include "base/util.h"

/* The number of open descriptors. `directory` is a descriptor of /proc/self/fd that the caller keeps, or -1. -errno. */
int fd_count_open(int directory, uint64_t *ret);
/* An epoll descriptor that is readable while one of the `n` is; those that are negative are left out. -errno. */
int fd_join(const int *fds, size_t n);
/*
 * Closes all but standard error and those of `kept`. Standard input and output keep their numbers, and are /dev/null.
 * -errno.
 */
int fd_keep_only(const int *kept, size_t n);
/* Closes all descriptors except 0, 1, 2 and those in `kept`. Opens no file, so it also works in a jail. */
void fd_close_all_but(const int *kept, size_t n);

#endif
