/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The capabilities of this process (capabilities(7)), and the user to which a process switches if root started it.
 *
 * A set of capabilities is a mask: bit N is capability N.
 */
#ifndef PROCESS_PRIVILEGES_H
#define PROCESS_PRIVILEGES_H

#include <sys/types.h>

#include "base/error.h"

/* Returns the name of capability `i`, such as "sys_admin", or NULL if the number is unknown. */
const char *capability_name(unsigned i);
/* Returns the effective set. If it cannot be read, root is assumed to have all capabilities, and other users none. */
uint64_t capabilities_own(void);
/* Returns whether this process has CAP_PERFMON or CAP_SYS_ADMIN, which exempt it from kernel.perf_event_paranoid. */
bool capabilities_are_privileged(void);
/*
 * Reduces the effective, permitted and bounding sets to `mask`, clears the other sets, and sets PR_SET_NO_NEW_PRIVS.
 * Without CAP_SETPCAP the bounding set is unchanged. Returns -errno with a message: -EPERM if any other capability
 * remains.
 */
int capabilities_keep_only(uint64_t mask, struct error *error);
/*
 * Empties the bounding set, and leaves the other sets as they are. Does nothing without CAP_SETPCAP. Returns -errno
 * with a message.
 */
int capabilities_empty_bounding_set(struct error *error);

struct user {
    bool change; /* whether the process switches to the user below */
    uid_t uid;
    gid_t gid;
};

/*
 * Chooses the user to which this process switches if it runs as root; otherwise the process keeps its user. `name` is
 * the configured user name or number; "" stands for the default user, which is "perfcountd" if that user exists, and
 * else "nobody". If the default user is not mapped in this user namespace, root stays root, because it is then not the
 * machine's root user. Returns -EINVAL with a message if the named user does not exist, is root, or is not mapped.
 */
int user_choose(const char *name, struct user *ret, struct error *error);
/*
 * Allows processes of `user` to end this process with kill(2) or through PR_SET_PDEATHSIG, by changing only the real
 * user of this process; its effective user and privileges do not change. Returns -errno with a message.
 */
int user_allow_kill(const struct user *user, struct error *error);
/* Switches to `user` and drops the supplementary groups. Returns -errno with a message. */
int user_become(const struct user *user, struct error *error);

#endif
