/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The opener's main loop receives a request, checks it, opens the requested events or files, sends their descriptors to
 * the daemon, and closes its own copies.
 *
 * The descriptor of a container runtime's state file goes to the state file reader (cgroups/names-reader.h), not to the
 * daemon, so no process both opens and reads state files.
 *
 * If a request has a uprobe, a child of the opener opens all events of the request, because the program in which the
 * uprobe is set may be on a file system that never answers. To set a uprobe, the kernel reads the program and takes the
 * mmap_lock of each process that has mapped the program; meanwhile no process can fork (register_for_each_vma() in
 * kernel/events/uprobes.c). If the child has not exited after a second, the request fails with -EHOSTDOWN, and so do
 * other requests for the same program until the child has exited.
 *
 * The opener also starts finders (process/finder.h), and makes the calls for counting cgroups with BPF (bpf/calls.h).
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
 * Opens the state file that `request` names, by a safe path (opener/safe-open.h), and sends its descriptor with the
 * request to the socket `reader` (-1: no reader), without blocking. Returns the same as read() in struct state_files.
 *
 * If the file's user is not root, a child opens and sends the file, and this process waits for the child as long as
 * `stragglers` allows. If the child has not exited by then, the result is still 0, since the child may yet send the
 * file. Returns -EHOSTDOWN if a child for this user hangs, if too many children hang, or if children for this user took
 * too long.
 */
int opener_state_file_send(struct sys *sys, const struct state_request *request, int reader,
                           struct stragglers *stragglers);

struct own_state_files {
    struct sys *sys;
    const int *reader; /* socket of the state file reader; -1 if there is none */
    struct stragglers stragglers;
};
/*
 * Sets up the calls for a process without an opener, which opens state files with its own privileges. Does not change
 * ret->records.
 */
void own_state_files_bind(struct own_state_files *own, struct state_files *ret);

/*
 * The finders that the opener has started. They cannot be killed while they hang on a file. A zeroed struct is empty.
 */
struct finders {
    pid_t pids[OPENER_FINDERS_MAX]; /* PIDs of the finders; 0 marks a free element */
};

/*
 * Forks a finder; the calling process must be single-threaded. ret[0] and ret[1] are set to the two sockets that
 * sys_start_finder() describes; the caller closes both. Returns how many earlier finders are still running; -EBUSY if
 * too many are; or an error from socketpair(2) or fork(2).
 */
int finders_start(struct finders *finders, int ret[2]);

/*
 * Maximum number of BPF programs whose maps the daemon may have open, because maps use kernel memory. The daemon needs
 * those of the program that counts, of its replacement, and of replaced programs that have yet to be read for the last
 * time.
 */
#define OPENER_PROGRAMS_MAX 4

struct opener_server {
    struct sys *sys;
    int socket;
    struct opener_rules rules;
    int reader;                  /* socket to which state files are sent; -1 if nobody reads them */
    const struct bpf_calls *bpf; /* may be NULL */
    const char *cgroups;         /* root directory of the cgroup hierarchy, or "" if there is none */
    struct event_quota *events;
    struct quota *bpf_programs; /* quota with a single account, for the maps of BPF programs */
    struct finders *finders;
    struct stragglers *stragglers; /* child processes that open state files */
    struct stragglers *programs;   /* child processes that open uprobes, or NULL to use no children */
};

/*
 * Serves requests until the daemon closes its end of the socket, and then returns 0. Returns -errno if a request cannot
 * be received or a reply cannot be sent. If only the descriptors of a reply cannot be sent, the daemon gets that error
 * as the reply.
 */
int opener_server_run(const struct opener_server *server);

#endif
