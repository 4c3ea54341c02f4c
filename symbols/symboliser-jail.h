/* SPDX-License-Identifier: Apache-2.0 */
/* Takes powers away from the symboliser's process when it has started: see symboliser.h. */
#ifndef SYMBOLS_SYMBOLISER_JAIL_H
#define SYMBOLS_SYMBOLISER_JAIL_H

#include "base/util.h"

/*
 * Afterwards this process has no descriptors but its two sockets, is not root, has no groups and no capabilities and
 * gets none, cannot be traced, and ends with its parent. It may only make the system calls that a parser of open files
 * needs: it opens, starts and connects to nothing. Libraries must be loaded before.
 *
 * -errno if any of this fails; what was given up until then stays given up. A kernel without filters is no error.
 */
int symboliser_jail_enter(void);

#endif
