/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Removes the files of unix sockets that the daemon bound while it had privileges. Without its privileges the daemon
 * may not be allowed to remove these files, so the opener removes them after the daemon has exited.
 *
 * A compromised daemon cannot change which files the opener removes: the paths are fixed before the opener is forked,
 * and the daemon marks those that it bound in a block of shared memory, which it unmaps before giving up its
 * privileges.
 */
#ifndef OPENER_BOUND_SOCKETS_H
#define OPENER_BOUND_SOCKETS_H

#include <stddef.h>

/* Maximum number of sockets whose files the opener removes; any others are left to the daemon. */
#define BOUND_SOCKETS_MAX 8

struct bound_socket;

struct bound_sockets {
    char *const *paths; /* borrowed */
    size_t n;
    struct bound_socket *marks;         /* array in shared memory; NULL if not mapped */
    int directories[BOUND_SOCKETS_MAX]; /* the opener's descriptors; -1 for a directory that is not open */
};

/* Maps the shared memory. Must be called before the opener is forked. `paths` must outlive `ret`. Returns -errno. */
int bound_sockets_init(char *const *paths, size_t n, struct bound_sockets *ret);

/* Marks the sockets that currently exist at the paths. The daemon calls this while it has privileges. */
void bound_sockets_mark(const struct bound_sockets *sockets);
/* Unmaps the shared memory; called by the daemon. */
void bound_sockets_done(struct bound_sockets *sockets);

/*
 * Opens the directories that contain the sockets, and skips directories that cannot be opened. The opener calls this
 * before it enters its sandbox.
 */
void bound_sockets_open(struct bound_sockets *sockets);
/* Removes the marked files, unless they were replaced. The opener calls this when it exits. */
void bound_sockets_remove(const struct bound_sockets *sockets);

#endif
