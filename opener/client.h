/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The daemon's side of the opener, a process that keeps the privileges and opens counters and files for the daemon,
 * which has none.
 *
 * A `struct sys` that is attached to the opener sends it the calls that need privileges, and makes all others itself.
 * The calls that count cgroups by BPF (bpf/calls.h) are requests too.
 *
 * The client gives up an opener that has ended or breaks the protocol: each later request fails with -EPIPE, and open
 * descriptors stay open. An opener that does not reply in time is late: the request that waited fails with -ETIMEDOUT,
 * and so does each later one at once, until the late reply has arrived and been dropped.
 *
 * A refused request fails as opener_request_check() says, or with -EXDEV if a directory is not a cgroup of the
 * hierarchy; perf/reason.c explains the errors.
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
    uint32_t bpf_events;  /* events of each CPU in the BPF program that was started last */
    unsigned patience_ms; /* receive timeout of the socket; 0: not set yet */
};

/* From now on `sys` asks the opener. The client must outlive `sys`. */
void opener_client_attach(struct opener_client *client, struct sys *sys);
/*
 * The caller calls this when the socket is readable. Returns 1 after a late reply, 0 if there is nothing to read, and
 * -EPIPE if the opener has ended or has sent an unsolicited packet.
 */
int opener_client_take_late_reply(struct opener_client *client);
/* Waits for an answer of the opener. Returns 0, -ETIMEDOUT if the opener is late, or -EPIPE if it has ended. */
int opener_client_check(struct opener_client *client);
void opener_client_done(struct opener_client *client);

struct opener {
    struct opener_client client;
    struct sys *sys; /* the sys that asks the opener; NULL until it does */
    struct child child;
    uid_t user;            /* the opener's user */
    pid_t pid;             /* stays set when child.pid becomes 0, once the opener is reaped */
    int status;            /* status of wait4(2), once the opener is reaped */
    bool killed;           /* by opener_kill(), as it did not end by itself */
    uint64_t capabilities; /* the opener's, a bit each */
    bool filtered;         /* a seccomp filter limits its system calls */
    /* The directory of the cgroup hierarchy in which perf counts; "" if there is none. */
    char *cgroups;
};

/*
 * Forks the opener, which uses `sys` to open what `permissions` allow, and lets `sys` ask it from now on. Takes over
 * the permissions in any case. The process must have one thread. The opener sends state files to the socket `reader`
 * (-1: none), which stays the caller's, who closes it afterwards. `user` is the user that this process becomes later;
 * it may end the opener.
 *
 * This process keeps its privileges: the caller must enter SANDBOX_DAEMON with `user` before it listens to a
 * network. Returns -errno with a sentence.
 */
int opener_start(struct sys *sys, struct opener_permissions *permissions, const struct user *user, int reader,
                 struct opener **ret, struct error *error);
/* Ends the opener if it still runs, and reaps it. Waits about a second at most. Always returns NULL. */
struct opener *opener_free(struct opener *opener);

/* Readable when the opener has ended or sends a late reply: the caller then calls opener_take_late_reply(). */
int opener_poll_fd(const struct opener *opener);
int opener_take_late_reply(struct opener *opener);
/*
 * Kills the opener if it does not end within a tenth of a second. Later requests fail with -EPIPE. Returns whether the
 * opener is reaped already; otherwise the caller calls opener_reap() later.
 */
bool opener_kill(struct opener *opener);
/* Reaps the opener if it has ended, without waiting. Returns whether nothing is left to reap. */
bool opener_reap(struct opener *opener);
/* Describes how a lost opener ended: "process 123 was ended by signal 9 (Killed)". */
void opener_describe_end(const struct opener *opener, char *text, size_t size);

/* Lets sys->bpf ask the opener, after opener_client_attach(). */
void opener_client_bind_bpf(struct sys *sys);

#endif
