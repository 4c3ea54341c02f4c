/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Listening sockets, made from a configured address or passed in by a service manager.
 *
 * `struct socket_file` identifies the file that was created for a unix socket, so that no other file is removed later.
 */
#ifndef HTTP_SOCKET_H
#define HTTP_SOCKET_H

#include <sys/stat.h>

#include "base/error.h"

/* The file of a unix socket; `path` is NULL for sockets of other kinds. */
struct socket_file {
    char *path;
    dev_t device;
    ino_t inode;
};

/*
 * Gets the group of a listening unix socket's file. Returns -ENOTSOCK if the socket has no file or if its path now
 * leads to another kind of file, an error from lstat(2), or -EAFNOSUPPORT for a socket that is not a unix socket.
 */
int socket_group(int fd, gid_t *ret);

/*
 * Opens a nonblocking listening socket. For a unix socket, a file left behind by a dead process is removed first; the
 * new file has mode 0660. *ret_url is set to the URL for clients, which the caller frees. On failure the error names
 * the address and a remedy.
 */
int socket_listen(const char *text, int *ret_fd, char **ret_url, struct socket_file *ret_file, struct error *error);
/*
 * Returns a nonblocking duplicate of a listening socket that a service manager passed in. Returns -EINVAL, with a
 * message, if the descriptor is not a listening stream socket.
 */
int socket_adopt(int fd, int *ret_fd, char **ret_url, struct error *error);
/* From where a listening socket can be reached, judging by its address. */
enum socket_reach {
    SOCKET_REACH_MACHINE, /* a unix socket or a loopback address */
    SOCKET_REACH_NETWORK, /* a single other address */
    SOCKET_REACH_IPV4,    /* all IPv4 addresses of the machine */
    SOCKET_REACH_IPV6,    /* all IPv6 addresses of the machine */
    SOCKET_REACH_ALL,     /* all addresses of the machine */
};
enum socket_reach socket_reach(int fd);
/* Removes the file of the socket, unless another file has replaced it. */
void socket_file_done(struct socket_file *file);

#endif
