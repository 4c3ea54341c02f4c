/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The daemon's side of the opener: a `struct sys` that asks the opener where privileges are needed, and otherwise works
 * as before.
 *
 * An opener that has ended is given up: each later request fails with -EPIPE, and what is open stays open. An opener
 * that does not reply in time is late: the request that waited for it fails with -ETIMEDOUT, and so do later ones, at
 * once, until the late reply has come. Nobody uses that reply.
 *
 * A refused request fails as opener_request_check() says, and with -EXDEV where a directory is not a cgroup of the
 * hierarchy; perf/reason.c explains both.
 *
 * The opener: a process that keeps the privileges and opens counters and files for the daemon, which has no privileges.
 *
 * The daemon's part of counting cgroups: the seam's calls, which the opener makes for it.
 */
#ifndef OPENER_CLIENT_H
#define OPENER_CLIENT_H

#include "bpf/calls.h"
#include "opener/protocol.h"
#include "process/child.h"
#include "process/privileges.h"

struct opener_client {
    int socket;
    struct opener_rules rules;
    struct buffer packet;
    bool lost, late;
    uint32_t tally_events; /* of the tally that was started last */
    unsigned patience_ms;  /* of the socket; 0: not set yet */
};

/* From now on `sys` asks the opener; the client must outlive `sys`. */
void opener_client_attach(struct opener_client *client, struct sys *sys);
/*
 * To be called when the socket is readable: 1 after a late reply, 0 where nothing came, -EPIPE when the opener has
 * ended or has sent something that was not asked for.
 */
int opener_client_take_late_reply(struct opener_client *client);
/* Whether the opener answers now, which is waited for: 0, -ETIMEDOUT where it is late, -EPIPE where it has ended. */
int opener_client_check(struct opener_client *client);
void opener_client_done(struct opener_client *client);

struct opener {
    struct opener_client client;
    struct sys *sys; /* that asks it; NULL before */
    struct child child;
    uid_t user;            /* of the opener */
    pid_t pid;             /* child.pid is 0 once it is reaped */
    int status;            /* of wait4(2), once it is reaped */
    bool killed;           /* by opener_kill(), since it did not end */
    uint64_t capabilities; /* of the opener, a bit each */
    bool filtered;         /* its system calls are filtered */
    char *cgroups;
};

/*
 * Forks the opener, which opens by `sys` what `permissions` allow (taken over in any case); from now on `sys` asks it.
 * To be called while there is one thread. `reader` (-1: none) is the socket to which the opener sends state files; it
 * stays the caller's, who closes it then. This process keeps its privileges: the caller must call daemon_jail_enter()
 * with `user` before it listens to a network. -errno with a sentence.
 */
int opener_start(struct sys *sys, struct opener_permissions *permissions, const struct user *user, int reader,
                 struct opener **ret, struct error *error);
/* Kills the opener if it still runs, and reaps it; waits at most one second for its end. */
struct opener *opener_free(struct opener *opener);

/* Readable when the opener has ended or sends a late reply; see opener_client_take_late_reply(). */
int opener_poll_fd(const struct opener *opener);
int opener_take_late_reply(struct opener *opener);
/*
 * Kills the opener if it does not end within a tenth of a second; requests fail from now on. Whether it is reaped
 * already, which can take time.
 */
bool opener_kill(struct opener *opener);
/* Reaps the opener if it has ended, without waiting; whether nothing is left to reap. */
bool opener_reap(struct opener *opener);
/* How an opener ended that was lost: "process 123 was ended by signal 9 (Killed)". */
void opener_describe_end(const struct opener *opener, char *text, size_t size);

/* After opener_client_attach(): sys->tally asks the opener. */
void opener_client_attach_tally(struct sys *sys);

#endif
