/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The opener's main loop: it receives a request, checks it, opens the requested events or files, sends the descriptors
 * to the daemon and closes its own copies.
 *
 * A state file of a container runtime goes to the reader of such files (cgroups/names-reader.h), not to the daemon. The
 * process that opens such a file does not read it.
 *
 * If an event of a request is a uprobe, a child of the opener opens all events of the request, because the program may
 * be on a file system that never answers. To set a uprobe, the kernel reads the program and takes the mmap_lock of each
 * process that has mapped it; meanwhile no process can fork (register_for_each_vma() in kernel/events/uprobes.c). The
 * opener waits for the child for at most a second. Then the request fails with -EHOSTDOWN, and so do other requests for
 * the same program until the child has ended.
 *
 * The opener also starts finders (process/finder.h), and makes the calls that count cgroups by BPF (bpf/calls.h).
 */
#ifndef OPENER_OPENER_SERVER_H
#define OPENER_OPENER_SERVER_H

#include <sys/types.h>

#include "cgroups/state-files.h"
#include "opener/protocol.h"
#include "opener/quota.h"
#include "perf/sys.h"
#include "process/stragglers.h"

/*
 * Opens the file that `request` names by a safe path (opener/safe-open.h), and sends it with the request to the socket
 * `reader` (-1: no reader), without blocking. Returns what read() of struct state_files returns.
 *
 * A child opens and sends a file that does not belong to root, and this process waits for it as long as `stragglers`
 * allows. If the child has not ended by then, the result is 0 as well, since the file may still be sent. Returns
 * -EHOSTDOWN if a child of this user hangs, if too many children hang, or if this user's children took too long.
 */
int opener_state_file_send(struct sys *sys, const struct state_request *request, int reader,
                           struct stragglers *stragglers);

struct own_state_files {
    struct sys *sys;
    const int *reader; /* the reader's socket; *reader is -1 if there is no reader */
    struct stragglers stragglers;
};
/*
 * Used without an opener: this process opens state files itself, with its own privileges. Does not change ret->records.
 */
void own_state_files_bind(struct own_state_files *own, struct state_files *ret);

/* The finders that the opener has started. A finder that hangs on a file cannot be ended. A zeroed struct is empty. */
struct finders {
    pid_t pids[OPENER_FINDERS_MAX]; /* 0: a free place */
};

/*
 * Forks a finder; this process must have one thread. ret[0] and ret[1] are the sockets of sys_start_finder(), which the
 * caller closes. Returns how many earlier finders have not ended; -EBUSY if there are too many; errors of socketpair(2)
 * and fork(2).
 */
int finders_start(struct finders *finders, int ret[2]);

/*
 * Limit of BPF programs whose maps the daemon holds, because maps use kernel memory: the one that counts, the one that
 * replaces it, and replaced ones that the daemon still reads a last time.
 */
#define OPENER_PROGRAMS_MAX 4

struct opener_server {
    struct sys *sys;
    int socket;
    struct opener_rules rules;
    int reader;                  /* the socket for state files; -1: nobody reads them */
    const struct bpf_calls *bpf; /* may be NULL */
    const char *cgroups;         /* the directory of the cgroup hierarchy, "" if there is none */
    struct event_quota *events;
    struct quota *bpf_programs; /* has one account, for the maps of BPF programs */
    struct finders *finders;
    struct stragglers *stragglers; /* children that open state files */
    struct stragglers *programs;   /* children that open uprobes; NULL: no child is used */
};

/*
 * Serves requests until the daemon closes its end; then returns 0. Returns -errno if a request cannot be received or a
 * reply cannot be sent. If only the descriptors of a reply cannot be sent, that error is the reply.
 */
int opener_server_run(const struct opener_server *server);

#endif
