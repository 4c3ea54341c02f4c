/* SPDX-License-Identifier: Apache-2.0 */
/* A listening socket from an address as configured. */
#ifndef HTTP_SOCKET_H
#define HTTP_SOCKET_H

#include <sys/stat.h>

#include "base/error.h"

/* What a unix socket leaves in the file system; `path` is NULL for others. */
struct socket_file {
    char *path;
    dev_t device;
    ino_t inode;
};

/*
 * The group of the file to which a listening unix socket is bound. -ENOTSOCK where another file is there now or it has
 * none, -errno of stat(2) where it cannot be looked at; -EAFNOSUPPORT for other sockets.
 */
int socket_group(int fd, gid_t *ret);

/*
 * Listens, without blocking. For a unix socket a file that a dead process left is removed first, and the new one has
 * mode 0660. `ret_url` (which the caller frees) is how a client writes it. The error names the address and what to do.
 */
int socket_listen(const char *text, int *ret_fd, char **ret_url, struct socket_file *ret_file, struct error *error);
/*
 * A listening socket that somebody handed over: a duplicate of it, which does not block. -EINVAL with a sentence for
 * what is none.
 */
int socket_adopt(int fd, int *ret_fd, char **ret_url, struct error *error);
/* Removes the file, if it is still the one that was made. */
void socket_file_done(struct socket_file *file);

#endif
