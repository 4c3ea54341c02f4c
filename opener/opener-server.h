/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A state file of a container runtime, which is opened and handed to the reader of such files (cgroups/names-reader).
 * The process that opens it reads nothing of it.
 *
 * Opens the events of a request that has been checked.
 *
 * If one of them is a uprobe, a child of the opener opens all events of the request, because the program may be on a
 * file system that never answers. To set a uprobe, the kernel reads the program and takes the mmap_lock of each process
 * that has mapped it; meanwhile no process can fork (register_for_each_vma() in kernel/events/uprobes.c). The opener
 * waits for the child for at most a second. Then the request fails with -EHOSTDOWN, and so do other requests for the
 * same program until the child has ended.
 *
 * The finders that the opener has started (process/finder.h). One that hangs over a file cannot be ended.
 *
 * The opener's part of counting cgroups: makes the calls of the seam that the daemon asks for.
 *
 * The opener's work: receives a request, checks it, opens, hands out the descriptors and keeps none of them.
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
 * Opens what `request` names, by a safe path, and sends it to the socket `reader` with the request, without waiting. As
 * struct sys's read_state(); -ENOSYS also where the reader has ended. `reader` is -1 where there is none.
 *
 * A file that does not belong to root is opened and sent by a child, and this process waits for the child as long as
 * `stragglers` allows. If the child has not ended by then, the result is 0 as well, since the file may still be sent;
 * -EHOSTDOWN: a child of this user hangs, too many children hang, or this user's children took too long.
 */
int opener_state_file_send(struct sys *sys, const struct state_request *request, int reader,
                           struct stragglers *stragglers);

struct own_state_files {
    const int *reader; /* the reader's socket; *reader is -1 if there is no reader */
    struct stragglers stragglers;
};
/* Without an opener: makes this process open state files itself, with its own rights. *files must outlive `sys`. */
void opener_state_file_attach(struct sys *sys, struct own_state_files *files);

/* Zeroed, there are none. */
struct finders {
    pid_t pids[OPENER_FINDERS_MAX]; /* 0: a free place */
};

/*
 * Forks this process, which must have one thread. The caller closes both sockets: see start_finder() of struct sys.
 * Returns how many of the earlier ones have not ended; -EBUSY where there is no place; errors of socketpair(2) and
 * fork(2).
 */
int finders_start(struct finders *finders, int ret[2]);

/*
 * How many tallies the daemon may have maps of, which keep the kernel's memory: the one that counts, the one that
 * replaces it, and those that the daemon still reads a last time.
 */
#define OPENER_TALLIES_MAX 4

struct opener_server {
    struct sys *sys;
    int socket;
    struct opener_rules rules;
    int reader;          /* the socket to which state files go (state-file.h); -1: nobody reads them */
    const char *cgroups; /* the directory of the hierarchy of cgroups, "" where there is none */
    struct event_quota *events;
    struct quota *tallies; /* of the maps of tallies: tally-server.h */
    struct finders *finders;
    struct stragglers *stragglers; /* over state files */
    struct stragglers *programs;   /* children that open uprobes; may be NULL: open-events.h */
};

/*
 * Replies until the daemon closes its end (0), or a reply cannot be sent (-errno). Where only the descriptors cannot be
 * sent, that error is the reply.
 */
int opener_server_run(const struct opener_server *server);

#endif
