/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the process that already listens on an address, as far as this user can see it in /proc: /proc/net/tcp,
 * /proc/net/tcp6, /proc/net/unix and /proc/PID/fd (proc(5)).
 */
#ifndef HTTP_HOLDER_H
#define HTTP_HOLDER_H

#include <sys/types.h>

#include "config/address.h"

struct holder {
    pid_t pid;
    char name[16]; /* of the main thread; bytes other than printable ASCII are "?" */
};

/* Returns -ENOENT if no visible process listens on the address. */
int holder_find(const struct address *address, struct holder *ret);

#endif
