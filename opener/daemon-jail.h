/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the daemon can do no more, once its opener has started: it talks to the network, and is assumed to be taken over
 * one day.
 */
#ifndef OPENER_DAEMON_JAIL_H
#define OPENER_DAEMON_JAIL_H

#include "opener/user.h"

/*
 * Becomes `user`; has no capability and none to be had; is not dumpable, so that nobody of the same user reads its
 * memory; and makes none of the system calls that daemon-jail.c lists, nor do the processes that it starts. To be
 * called while there is one thread. *ret_filtered is false where the kernel has no filters. -errno with a sentence, and
 * then this process is not to go on.
 */
int daemon_jail_enter(const struct user *user, bool *ret_filtered, struct error *error);

#endif
