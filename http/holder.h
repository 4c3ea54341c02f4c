/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The process that listens on an address already, as far as /proc shows it to this user: proc(5), /proc/net/tcp,
 * /proc/net/unix and /proc/PID/fd.
 */
#ifndef HTTP_HOLDER_H
#define HTTP_HOLDER_H

#include <sys/types.h>

#include "config/address.h"

struct holder {
    pid_t pid;
    char name[16]; /* of its first thread, with "?" for bytes that are not printable ASCII */
};

/* -ENOENT where no process can be seen that listens there. */
int holder_find(const struct address *address, struct holder *ret);

#endif
