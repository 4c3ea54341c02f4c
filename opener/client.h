/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The daemon's side of the opener, a process that keeps the privileges and opens counters and files for the daemon,
 * which has none.
 *
 * A `struct sys` that is attached to the opener sends it the calls that need privileges and makes all other calls
 * itself. The calls for BPF programs (bpf/calls.h) and for state files (cgroups/state-files.h) are also sent as
 * requests.
 *
 * If the opener ends or violates the protocol, each later request fails with -EPIPE; open descriptors stay open. If the
 * opener does not reply in time, the request fails with -ETIMEDOUT, and so does each later request immediately, until
 * the late reply has arrived and been dropped.
 *
 * A refused request fails as opener_request_check() says, or with -EXDEV if a directory is not a cgroup of the
 * hierarchy; perf/reason.c explains the errors.
 */
#ifndef OPENER_CLIENT_H
#define OPENER_CLIENT_H

#include "bpf/calls.h"
#include "opener/bound-sockets.h"
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

/* The privileged calls of a process. The process makes them itself until it has an opener. */
struct privileged_calls {
    struct sys *sys;
    struct bpf_calls *bpf;
    struct state_files *state_files;
};

/*
 * Redirects `calls` to the opener; those for state files only if the opener may open such files. The client must
 * outlive the last call.
 */
void opener_client_attach(struct opener_client *client, const struct privileged_calls *calls);
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
    struct bpf_calls *bpf; /* asks the opener; NULL until it does. opener_free() empties it. */
    struct child child;
    uid_t user;            /* the opener's user */
    pid_t pid;             /* stays set when child.pid becomes 0, once the opener is reaped */
    int status;            /* status of wait4(2), once the opener is reaped */
    bool killed;           /* opener_kill() killed it because it did not end by itself */
    uint64_t capabilities; /* the opener's, a bit each */
    bool filtered;         /* a seccomp filter limits its system calls */
    /* The directory of the cgroup hierarchy in which perf counts; "" if there is none. */
    char *cgroups;
    bool removes_sockets;
    struct bound_sockets sockets; /* the caller marks the bound ones before it gives up its privileges */
};

/*
 * Forks the opener, which uses `calls->sys` to open what `permissions` allow, and lets all `calls` ask it from now on.
 * Takes ownership of the permissions even on failure. The process must have one thread. The opener sends state files to
 * the socket `reader` (-1: none), which the caller still owns and closes afterwards. `user` is the user that this
 * process becomes later, which is allowed to end the opener.
 *
 * This process keeps its privileges: the caller must enter SANDBOX_DAEMON with `user` before it listens to a
 * network. Returns -errno with a message.
 */
int opener_start(const struct privileged_calls *calls, struct opener_permissions *permissions, const struct user *user,
                 int reader, struct opener **ret, struct error *error);
/* Ends the opener if it still runs, and reaps it. Waits about two seconds at most. Always returns NULL. */
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

#endif
