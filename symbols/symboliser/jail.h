/* SPDX-License-Identifier: Apache-2.0 */
/* What the symboliser's process can do no more once it has started: see symboliser.h. */
#ifndef SYMBOLS_SYMBOLISER_JAIL_H
#define SYMBOLS_SYMBOLISER_JAIL_H

#include "base/util.h"

/*
 * Afterwards this process has no descriptor above `socket`, is not the user 0, has no group and no capability of its
 * own and gets none, cannot be looked into, ends with its parent, and of the system calls it has those that a parser of
 * open files needs: it opens, starts and connects to nothing, and speaks over `socket` alone. Libraries that are to be
 * loaded are loaded before.
 *
 * -errno where it cannot be so; what was given up until then stays given up. A kernel without filters is no error.
 */
int symboliser_jail_enter(int socket);

#endif
