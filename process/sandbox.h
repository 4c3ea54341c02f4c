/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sandboxes of perfcountd's processes: what each of them may still do after its start, even if an attacker takes it
 * over.
 *
 * A process enters its sandbox before it receives the first request, and cannot leave it. process/sandbox.c has one row
 * for each process, and one list of system calls with the processes that may make each. All processes give up new
 * privileges, are not dumpable, so that others of their user cannot read their memory, and:
 *
 * - The opener keeps its user and the capabilities that opening needs. It may make the calls in the list.
 * - The daemon, which talks to the network, becomes the configured user, without capabilities. It and its children may
 *   make all calls but those by which such a process still reaches other processes, or large parts of the kernel.
 * - The symboliser and the reader of state files parse files of strangers. They become nobody, without capabilities,
 *   and can neither open nor connect to anything, so libraries must be loaded before.
 *
 * All but the daemon end with their parent, and keep few descriptors.
 */
#ifndef PROCESS_SANDBOX_H
#define PROCESS_SANDBOX_H

#include <sys/resource.h>

#include "base/error.h"
#include "process/privileges.h"

enum sandbox_kind { SANDBOX_OPENER, SANDBOX_DAEMON, SANDBOX_SYMBOLISER, SANDBOX_READER };

/* The kinds of work of an opener, as bits. Each needs certain capabilities or system calls. */
enum sandbox_work {
    SANDBOX_SAMPLES = 1 << 0,     /* opens events of all tasks, and the files that these have mapped */
    SANDBOX_LOADS_BPF = 1 << 1,   /* loads a BPF program */
    SANDBOX_FORKS = 1 << 2,       /* forks children for files that may hang; implied by the bits above */
    SANDBOX_NEEDS_ADMIN = 1 << 3, /* CAP_PERFMON does not suffice for its events */
    SANDBOX_REMOVES = 1 << 4,     /* removes files in the second after its parent has ended */
};

struct sandbox {
    enum sandbox_kind kind;
    const int *fds; /* stay open, besides standard error; negative ones are ignored. The daemon keeps all of its own. */
    size_t n_fds;
    unsigned work;           /* of an opener */
    const struct user *user; /* the daemon: whom it becomes */
    rlim_t file_size;        /* the symboliser: of a file that it writes, in bytes */
};

struct sandboxed {
    uint64_t capabilities; /* a bit each */
    bool filtered;         /* false: the kernel has no seccomp filters (not an error) */
};

/* The user and group to which a parser process of root changes. */
#define SANDBOX_NOBODY 65534

/*
 * Enters the sandbox. The process must have one thread. A process that parses may send and receive messages over its
 * `fds` alone. `ret` may be NULL. Returns -errno with a message; then earlier steps stay in effect, and the process
 * must not continue.
 */
int sandbox_enter(const struct sandbox *sandbox, struct sandboxed *ret, struct error *error);
/* Returns the capabilities out of `own`, a bit each, that an opener keeps for its work. Pure. */
uint64_t sandbox_capabilities(unsigned work, uint64_t own);
/*
 * Forbids a process in the reader's sandbox to fork, to open a pidfd and to send signals with kill(2). Returns 0 or
 * -errno. A kernel without seccomp filters is not an error.
 */
int sandbox_forbid_processes(void);

#endif
