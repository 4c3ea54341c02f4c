/* SPDX-License-Identifier: Apache-2.0 */
/* The user that a process started by root becomes. */
#ifndef OPENER_USER_H
#define OPENER_USER_H

#include <sys/types.h>

#include "base/error.h"

struct user {
    bool change; /* false: the process stays who it is */
    uid_t uid;
    gid_t gid;
};

/*
 * `name` is what the configuration says, a name or a number; "": "perfcountd" where there is such a user, else
 * "nobody". Root of a user namespace that has no number for those stays who it is: it is not the machine's root.
 * -EINVAL with a sentence where there is no such user, or it is root.
 */
int user_choose(const char *name, struct user *ret, struct error *error);
/*
 * Lets a process of that user end this one by kill(2), and by its own end where PR_SET_PDEATHSIG asks for that: the
 * real user of this one becomes the same. What this process may do is up to the effective user, which stays. -errno
 * with a sentence.
 */
int user_allow_kill(const struct user *user, struct error *error);
/* Becomes that user, with no other groups. -errno with a sentence. */
int user_become(const struct user *user, struct error *error);

#endif
