/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The jail that the daemon enters once its opener has started. The daemon talks to the network, and the design assumes
 * that an attacker takes it over one day.
 */
#ifndef OPENER_DAEMON_JAIL_H
#define OPENER_DAEMON_JAIL_H

#include "process/privileges.h"

/*
 * Becomes `user`; has no capability and cannot get one; is not dumpable, so that no process of the same user reads its
 * memory; and can make none of the system calls that daemon-jail.c lists, nor can the processes that it starts. To be
 * called while there is one thread. *ret_filtered is false where the kernel has no filters. -errno with a sentence, and
 * then this process must not go on.
 */
int daemon_jail_enter(const struct user *user, bool *ret_filtered, struct error *error);

#endif
