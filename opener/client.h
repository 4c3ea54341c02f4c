/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The daemon's side of the opener, a process that keeps its privileges and opens counters and files for the
 * unprivileged daemon.
 *
 * A `struct sys` that is attached to the opener sends it the calls that need privileges, and makes all other calls
 * itself. The calls for BPF programs (bpf/calls.h) and for state files (cgroups/state-files.h) also go to the opener.
 *
 * If the opener exits or violates the protocol, each later request fails with -EPIPE; open descriptors stay open. If
 * the opener does not reply in time, the request fails with -ETIMEDOUT. Later requests then fail immediately, until the
 * late reply has arrived and been dropped.
 *
 * A refused request fails with an error of opener_request_check(), or with -EXDEV if its directory is not in the cgroup
 * hierarchy that perf_event uses; perf/reason.c explains these errors to users.
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
    uint32_t bpf_events;  /* events per CPU of the most recently started BPF program */
    unsigned patience_ms; /* receive timeout of the socket; 0 if not set yet */
};

/* The privileged calls, which a process makes itself until it has an opener. */
struct privileged_calls {
    struct sys *sys;
    struct bpf_calls *bpf;
    struct state_files *state_files;
};

/*
 * Redirects `calls` to the opener, those for state files only if the opener may open such files. The client must
 * outlive these calls.
 */
void opener_client_attach(struct opener_client *client, const struct privileged_calls *calls);
/*
 * Receives and drops a late reply; called when the socket is readable. Returns 1 after a late reply, 0 if there is
 * nothing to read, and -EPIPE if the opener has exited or has sent an unsolicited packet.
 */
int opener_client_take_late_reply(struct opener_client *client);
/* Returns 0 if the opener answers, -ETIMEDOUT if it is late, or -EPIPE if it has exited. */
int opener_client_check(struct opener_client *client);
void opener_client_done(struct opener_client *client);

struct opener {
    struct opener_client client;
    struct bpf_calls *bpf; /* redirected calls, which opener_free() zeroes; may be NULL */
    struct child child;
    uid_t user;            /* user ID of the opener */
    pid_t pid;             /* process ID; unlike child.pid, not zeroed when the opener is reaped */
    int status;            /* wait status from wait4(2); valid once the opener is reaped */
    bool killed;           /* opener_kill() had to kill the opener */
    uint64_t capabilities; /* mask of the opener's capabilities */
    bool filtered;         /* a seccomp filter limits the opener's system calls */
    /* The root directory of the cgroup hierarchy that perf_event uses, or "" if there is none. */
    char *cgroups;
    bool removes_sockets;
    struct bound_sockets sockets; /* the opener removes their files; the caller marks those that it bound */
};

/*
 * Forks the opener, which opens what `permissions` allow through `calls->sys`, and redirects all `calls` to it from now
 * on. Takes ownership of the permissions even on failure. The calling process must be single-threaded. The opener sends
 * state files to the socket `reader` (-1: none), which the caller still owns and should close afterwards. `user` is the
 * user to which this process switches later, and who may terminate the opener.
 *
 * This process keeps its privileges: the caller must enter SANDBOX_DAEMON with `user` before it listens on a network.
 * Returns -errno with a message.
 */
int opener_start(const struct privileged_calls *calls, struct opener_permissions *permissions, const struct user *user,
                 int reader, struct opener **ret, struct error *error);
/* Stops the opener if it is still running, and reaps it, within about two seconds. Always returns NULL. */
struct opener *opener_free(struct opener *opener);

/*
 * Returns a descriptor that becomes readable when the opener has exited or sends a late reply; the caller must then
 * call opener_take_late_reply().
 */
int opener_poll_fd(const struct opener *opener);
int opener_take_late_reply(struct opener *opener);
/*
 * Waits a tenth of a second for the opener to exit, and then kills it. Later requests to the opener fail with -EPIPE.
 * Returns whether the opener has already been reaped; if not, the caller must call opener_reap() later.
 */
bool opener_kill(struct opener *opener);
/* Reaps the opener if it has exited, without waiting. Returns false if the opener still has to be reaped. */
bool opener_reap(struct opener *opener);
/* Describes how a lost opener terminated, as in "process 123 was killed by signal 9 (Killed)". */
void opener_describe_end(const struct opener *opener, char *text, size_t size);

#endif
