/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The jail of the daemon, which it enters once its opener has started. The daemon talks to the network, and the design
 * assumes that an attacker takes it over one day.
 */
#ifndef OPENER_DAEMON_JAIL_H
#define OPENER_DAEMON_JAIL_H

#include "process/privileges.h"

/*
 * Becomes `user` and gives up all capabilities for good. The process is not dumpable, so that other processes of the
 * user cannot read its memory. It and its children cannot make the system calls that opener/daemon-jail.c lists. The
 * process must have one thread. *ret_filtered is false if the kernel has no seccomp filters. On failure, returns -errno
 * with a sentence, and the process must not continue.
 */
int daemon_jail_enter(const struct user *user, bool *ret_filtered, struct error *error);

#endif
