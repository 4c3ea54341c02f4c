/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The capabilities of this process (capabilities(7)), and the user that a process started by root changes to.
 *
 * A set of capabilities is a mask: bit N is capability N.
 */
#ifndef PROCESS_PRIVILEGES_H
#define PROCESS_PRIVILEGES_H

#include <sys/types.h>

#include "base/error.h"

/* Returns a name such as "sys_admin", or NULL for an unknown number. */
const char *capability_name(unsigned i);
/* The effective set. If it cannot be read: all for root, none otherwise. */
uint64_t capabilities_own(void);
/* Whether this process has CAP_PERFMON or CAP_SYS_ADMIN, which exempt it from kernel.perf_event_paranoid. */
bool capabilities_are_privileged(void);
/*
 * Reduces the effective, permitted and bounding sets to `mask` and clears the others; sets PR_SET_NO_NEW_PRIVS. Without
 * CAP_SETPCAP the bounding set is unchanged. Returns -errno with a message: -EPERM if any other capability remains.
 */
int capabilities_keep_only(uint64_t mask, struct error *error);
/* Empties the bounding set only. Does nothing without CAP_SETPCAP. Returns -errno with a message. */
int capabilities_empty_bounding_set(struct error *error);

struct user {
    bool change; /* false: the process keeps its user */
    uid_t uid;
    gid_t gid;
};

/*
 * Chooses the user that root changes to; other users keep theirs. `name` is the configured user name or number; ""
 * means "perfcountd" if that user exists, else "nobody". If the default user is not mapped in this user namespace, root
 * keeps its user: it is then not the root of the machine. Returns -EINVAL with a message if the named user does not
 * exist, is root, or is not mapped.
 */
int user_choose(const char *name, struct user *ret, struct error *error);
/*
 * Lets processes of that user end this process, with kill(2) or through PR_SET_PDEATHSIG, by changing the real user.
 * The effective user, and with it the privileges, stays. Returns -errno with a message.
 */
int user_allow_kill(const struct user *user, struct error *error);
/* Changes to that user and drops supplementary groups. Returns -errno with a message. */
int user_become(const struct user *user, struct error *error);

#endif
