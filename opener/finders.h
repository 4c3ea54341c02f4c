/* SPDX-License-Identifier: Apache-2.0 */
/* The finders that the opener has started (process/finder.h). One that hangs over a file cannot be ended. */
#ifndef OPENER_FINDERS_H
#define OPENER_FINDERS_H

#include <sys/types.h>

#include "opener/request.h"

/* Zeroed, there are none. */
struct finders {
    pid_t pids[OPENER_FINDERS_MAX]; /* 0: a free place */
};

/*
 * Forks this process, which must have one thread. The caller closes both sockets: see start_finder() of struct sys.
 * Returns how many of the earlier ones have not ended; -EBUSY where there is no place; errors of socketpair(2) and
 * fork(2).
 */
int finders_start(struct finders *finders, int ret[2]);

#endif
