/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The split: a process that has the privileges and opens what it is asked for, and the daemon, which has none.
 */
#ifndef OPENER_OPENER_H
#define OPENER_OPENER_H

#include "opener/client.h"
#include "opener/user.h"

struct opener {
    struct opener_client client;
    pid_t pid;
    uint64_t capabilities; /* of the opener, a bit each */
    bool filtered;         /* its system calls are */
    char *cgroups;
};

/* Whether this process has privileges that it should not have beside a network. */
bool opener_is_wanted(void);
/* The effective capabilities of this process, a bit each. */
uint64_t opener_own_capabilities(void);
/*
 * Forks the opener, which opens by `sys` what is wished for (taken over in any case); from then on `sys` asks it. To be
 * called while there is one thread. This process has what it had: daemon_jail_enter() with `user` is to follow before
 * it hears anything from a network. -errno with a sentence.
 */
int opener_start(struct sys *sys, struct opener_permissions *wish, const struct user *user, struct opener **ret,
                 struct error *error);
/* Ends the opener where it has not ended, and reaps it; waits a second for that at most. */
struct opener *opener_free(struct opener *opener);

/* Readable when the opener has ended or gives a late answer: opener_take_late_reply(), as
 * opener_client_take_late_reply(). */
int opener_poll_fd(const struct opener *opener);
int opener_take_late_reply(struct opener *opener);
/* For one that has ended: sees to it. Requests fail from now on. Whether it is reaped, which can take time. */
bool opener_kill(struct opener *opener);
/* Never waits; whether there is nothing left to reap. */
bool opener_reap(struct opener *opener);

#endif
