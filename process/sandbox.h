/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sandboxes of perfcountd's processes. A sandbox limits what a process may do after its start, even if an attacker
 * takes over the process.
 *
 * A process enters its sandbox before it receives the first request, and cannot leave the sandbox. process/sandbox.c
 * has a table with one row for each kind of process, and a table of system calls with the processes that may make them.
 * No sandboxed process can gain new privileges, and none is dumpable, so other processes of the same user cannot read
 * its memory. In addition:
 *
 * - The opener keeps its user and the capabilities that it needs, but may only make the system calls in the table. -
 * The daemon, which talks to the network, becomes the configured user, without capabilities. The daemon and its
 * children may make all system calls except those through which even a process without capabilities could reach other
 * processes, or large parts of the kernel. - The parser processes, which are the symboliser and the reader of state
 * files, parse files of untrusted users. Parser processes become the user nobody, without capabilities. A sandboxed
 * parser process can neither open files nor connect to anything, so its libraries must be loaded before it enters the
 * sandbox.
 *
 * All these processes except the daemon exit when their parent exits, and keep few descriptors.
 */
#ifndef PROCESS_SANDBOX_H
#define PROCESS_SANDBOX_H

#include <sys/resource.h>

#include "base/error.h"
#include "process/privileges.h"

enum sandbox_kind { SANDBOX_OPENER, SANDBOX_DAEMON, SANDBOX_SYMBOLISER, SANDBOX_READER };

/* The kinds of work that an opener does; each needs certain capabilities or system calls. */
enum sandbox_work {
    SANDBOX_SAMPLES = 1 << 0,     /* opens events of all tasks, and the files that the tasks have mapped */
    SANDBOX_LOADS_BPF = 1 << 1,   /* loads a BPF program */
    SANDBOX_FORKS = 1 << 2,       /* forks children for files that may hang; implied by the bits above */
    SANDBOX_NEEDS_ADMIN = 1 << 3, /* opens events for which CAP_PERFMON does not suffice */
    SANDBOX_REMOVES = 1 << 4,     /* removes files within a second after its parent has exited */
};

struct sandbox {
    enum sandbox_kind kind;
    const int *fds; /* kept open, besides standard error; the daemon keeps all. Negative values are ignored. */
    size_t n_fds;
    unsigned work;           /* for the opener: mask of enum sandbox_work */
    const struct user *user; /* for the daemon: the user to which it switches */
    rlim_t file_size;        /* for the symboliser: maximum size of a written file, in bytes */
};

struct sandboxed {
    uint64_t capabilities; /* mask of the capabilities that were kept */
    bool filtered;         /* false if the kernel has no seccomp filters, which is not an error */
};

/* The user and group ID to which a parser process switches if root started it. */
#define SANDBOX_NOBODY 65534

/*
 * Enters the sandbox. The calling process must be single-threaded. A parser process may send and receive messages only
 * over its `fds`. `ret` may be NULL. Returns -errno with a message. After an error, some restrictions may already be in
 * effect, and the process must not continue.
 */
int sandbox_enter(const struct sandbox *sandbox, struct sandboxed *ret, struct error *error);
/* Returns which of the capabilities in the mask `own` an opener keeps for its work. Pure. */
uint64_t sandbox_capabilities(unsigned work, uint64_t own);
/*
 * Prevents a process in the reader's sandbox from forking, opening a pidfd, and sending signals with kill(2). Returns 0
 * or -errno. Succeeds without effect on a kernel without seccomp filters.
 */
int sandbox_forbid_processes(void);

#endif
