/* SPDX-License-Identifier: Apache-2.0 */
/* The user that a process started by root becomes. */
#ifndef PROCESS_USER_H
#define PROCESS_USER_H

#include <sys/types.h>

#include "base/error.h"

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
