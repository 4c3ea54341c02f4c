/* SPDX-License-Identifier: Apache-2.0 */
/* A listening socket from an address as configured. */
#ifndef HTTP_SOCKET_H
#define HTTP_SOCKET_H

#include <sys/stat.h>

#include "base/error.h"

/* The file of a unix socket; `path` is NULL for other sockets. */
struct socket_file {
    char *path;
    dev_t device;
    ino_t inode;
};

/*
 * The group of the file to which a listening unix socket is bound. -ENOTSOCK where it has no file or another file is
 * there now; -errno of stat(2); -EAFNOSUPPORT for other sockets.
 */
int socket_group(int fd, gid_t *ret);

/*
 * Listens, without blocking. For a unix socket a file that a dead process left is removed first, and the new one has
 * mode 0660. `ret_url`, which the caller frees, is as a client writes it. The error names the address and a remedy.
 */
int socket_listen(const char *text, int *ret_fd, char **ret_url, struct socket_file *ret_file, struct error *error);
/*
 * A duplicate, which does not block, of a listening socket that was handed over. -EINVAL with a sentence for any other
 * descriptor.
 */
int socket_adopt(int fd, int *ret_fd, char **ret_url, struct error *error);
/* From where clients come to a listening socket. */
enum socket_reach {
    SOCKET_REACH_MACHINE, /* a unix socket, or a loopback address */
    SOCKET_REACH_NETWORK, /* one other address */
    SOCKET_REACH_IPV4,    /* all addresses of the machine, of one version of IP or of both */
    SOCKET_REACH_IPV6,
    SOCKET_REACH_ALL,
};
enum socket_reach socket_reach(int fd);
/* Removes the file, if it is still the one that was made. */
void socket_file_done(struct socket_file *file);

#endif
