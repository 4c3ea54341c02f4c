/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sandboxes: seccomp(2) filters, and the jail of a process that parses untrusted files.
 *
 * A process enters its jail before it receives the first file. It gives up its user, its capabilities, all descriptors
 * but its sockets, and all system calls but a few.
 */
#ifndef PROCESS_SANDBOX_H
#define PROCESS_SANDBOX_H

#include <seccomp.h>
#include <sys/resource.h>

#include "base/error.h"

/* Allows a system call whose arguments match all `n` comparisons. */
struct call_rule {
    int number;
    unsigned n;
    struct scmp_arg_cmp arguments[2];
};

/* Adds the rules. Returns 0 or an error of seccomp_rule_add(3). */
int call_filter_allow(scmp_filter_ctx context, const struct call_rule *rules, size_t n);
/*
 * Loads and releases `context`, which may be NULL. `r` is the result of adding its rules: on failure nothing is loaded.
 * *ret_filtered is false if the kernel has no seccomp filters, which is no error. Returns -errno with a sentence.
 */
int call_filter_load(scmp_filter_ctx context, int r, bool *ret_filtered, struct error *error);

struct jail_limit {
    int resource; /* of setrlimit(2) */
    rlim_t value;
};

struct jail {
    const int *sockets; /* stay open, besides standard error; the jail allows sendmsg(2) and recvmsg(2) on them */
    size_t n_sockets;
    const struct jail_limit *limits;
    size_t n_limits;
    const struct call_rule *calls; /* allowed in addition to the calls for parsing an open file */
    size_t n_calls;
};

/* The user and group that root changes to: nobody. */
#define JAIL_USER 65534

/* Comparisons for struct call_rule: argument `n` equals `value`; argument `n` has none of `bits`. */
#define CALL_EXACTLY(n, value)                                                                                         \
    {                                                                                                                  \
        n, SCMP_CMP_EQ, value, 0                                                                                       \
    }
#define CALL_WITHOUT(n, bits)                                                                                          \
    {                                                                                                                  \
        n, SCMP_CMP_MASKED_EQ, bits, 0                                                                                 \
    }

/*
 * Afterwards this process is not root, has no supplementary groups, has no capabilities and cannot gain any, cannot be
 * traced, and is killed when its parent ends. It can neither open nor connect to anything, so libraries must be loaded
 * before.
 *
 * Returns -errno if any step fails; earlier steps stay in effect. A kernel without seccomp filters is no error.
 */
int jail_enter(const struct jail *jail);
/*
 * Forbids a process in a jail to fork, to open a pidfd and to send signals with kill(2). Returns 0 or -errno. A kernel
 * without seccomp filters is no error.
 */
int jail_forbid_processes(void);
/* Ignores the signals that a terminal, a service manager or pkill(1) sends to all processes of a service. */
void jail_drop_signals(void);

#endif
