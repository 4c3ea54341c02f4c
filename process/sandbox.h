/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a process may still do: system-call filters, resource limits, users.
 *
 * A filter of system calls (seccomp(2)), as each process with a jail has one.
 *
 * The jail of a process that parses files which others wrote: what it gives up before it gets the first, and the few
 * system calls that it keeps.
 */
#ifndef PROCESS_SANDBOX_H
#define PROCESS_SANDBOX_H

#include <seccomp.h>
#include <sys/resource.h>

#include "base/error.h"

/* A system call that is allowed, where all of its `n` arguments are as they must be. */
struct call_rule {
    int number;
    unsigned n;
    struct scmp_arg_cmp arguments[2];
};

/* Errors of seccomp_rule_add(3). */
int call_filter_allow(scmp_filter_ctx context, const struct call_rule *rules, size_t n);
/*
 * Loads `context`, whose rules were added with the result `r`, and releases it in any case; it may be NULL.
 * *ret_filtered is false where the kernel has no filters, which is no error. -errno with a sentence.
 */
int call_filter_load(scmp_filter_ctx context, int r, bool *ret_filtered, struct error *error);

struct jail_limit {
    int resource; /* of setrlimit(2) */
    rlim_t value;
};

struct jail {
    const int *sockets; /* the only descriptors that are kept, but for standard error, and that messages go over */
    size_t n_sockets;
    const struct jail_limit *limits;
    size_t n_limits;
    const struct call_rule *calls; /* besides those that the parser of an open file makes */
    size_t n_calls;
};

/* Whom root becomes: nobody. */
#define JAIL_USER 65534

/* An argument of a system call that must be `value`; one that must not have any of `bits`. */
#define CALL_EXACTLY(n, value)                                                                                         \
    {                                                                                                                  \
        n, SCMP_CMP_EQ, value, 0                                                                                       \
    }
#define CALL_WITHOUT(n, bits)                                                                                          \
    {                                                                                                                  \
        n, SCMP_CMP_MASKED_EQ, bits, 0                                                                                 \
    }

/*
 * Afterwards this process is not root, has no groups and no capabilities and gets none, cannot be traced, and ends with
 * its parent. It opens and connects to nothing. Libraries must be loaded before.
 *
 * -errno if any of this fails; what was given up until then stays given up. A kernel without filters is no error.
 */
int jail_enter(const struct jail *jail);
/*
 * Forbids a process that is in a jail to fork, to open a pidfd and to send signals with kill(2). Returns 0 or -errno; a
 * kernel without seccomp filters is no error.
 */
int jail_forbid_processes(void);
/* Signals that a terminal, a service manager or pkill(1) sends to all processes of a service do not end this one. */
void jail_drop_signals(void);

#endif
