/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Capabilities and users.
 *
 * The capabilities of this process (capabilities(7)), a bit each.
 *
 * The user that a process started by root becomes.
 */
#ifndef PROCESS_PRIVILEGES_H
#define PROCESS_PRIVILEGES_H

#include <sys/types.h>

#include "base/error.h"

/* "sys_admin"; NULL for a number that has no name. */
const char *capability_name(unsigned i);
/* The effective ones. */
uint64_t capabilities_own(void);
/* Whether this process may open counters that an ordinary process may not open. */
bool capabilities_are_privileged(void);
/*
 * Keeps those of `mask`, effective, permitted and in the bounding set, and no others in any set; execve(2) gives no new
 * privileges from now on. The bounding set stays as it is without CAP_SETPCAP. -errno with a sentence; -EPERM where
 * another capability remains.
 */
int capabilities_keep_only(uint64_t mask, struct error *error);
/* Empties the bounding set and keeps the other sets; does nothing without CAP_SETPCAP. -errno with a sentence. */
int capabilities_empty_bounding_set(struct error *error);

struct user {
    bool change; /* false: the process keeps its user */
    uid_t uid;
    gid_t gid;
};

/*
 * `name` is a user's name or number, as the configuration has it; "" means "perfcountd" where that user exists, else
 * "nobody". Root of a user namespace that has no number for them keeps its user: it is not the machine's root. -EINVAL
 * with a sentence where the user does not exist, or is root.
 */
int user_choose(const char *name, struct user *ret, struct error *error);
/*
 * Allows processes of that user to end this process, by kill(2) or by PR_SET_PDEATHSIG: the real user becomes the same.
 * The effective user, which decides what this process may do, stays. -errno with a sentence.
 */
int user_allow_kill(const struct user *user, struct error *error);
/* Becomes that user, with no other groups. -errno with a sentence. */
int user_become(const struct user *user, struct error *error);

#endif
