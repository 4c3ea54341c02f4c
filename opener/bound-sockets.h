/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Removes the files of unix sockets that the daemon bound while it had privileges. After it has given them up it may
 * not be allowed to remove the files, so the opener does that when the daemon has ended.
 *
 * The paths are fixed before the opener is forked. The daemon marks in shared memory which files it has bound, and
 * unmaps that memory before it gives up its privileges. So a compromised daemon cannot change what the opener removes.
 */
#ifndef OPENER_BOUND_SOCKETS_H
#define OPENER_BOUND_SOCKETS_H

#include <stddef.h>

/* The daemon itself removes the files of further sockets. */
#define BOUND_SOCKETS_MAX 8

struct bound_socket;

struct bound_sockets {
    char *const *paths; /* borrowed */
    size_t n;
    struct bound_socket *marks;         /* shared; NULL: none */
    int directories[BOUND_SOCKETS_MAX]; /* of the opener; -1: none */
};

/* Before the fork: maps the shared memory. `paths` must outlive `ret`. Returns -errno. */
int bound_sockets_init(char *const *paths, size_t n, struct bound_sockets *ret);

/* In the daemon, with its privileges: marks the sockets that are at the paths now. */
void bound_sockets_mark(const struct bound_sockets *sockets);
/* In the daemon: unmaps the memory. */
void bound_sockets_done(struct bound_sockets *sockets);

/* In the opener, before its sandbox: opens the directories. A directory that cannot be opened is skipped. */
void bound_sockets_open(struct bound_sockets *sockets);
/* In the opener, at its end: removes the marked files that were not replaced. */
void bound_sockets_remove(const struct bound_sockets *sockets);

#endif
