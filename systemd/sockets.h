/* SPDX-License-Identifier: Apache-2.0 */
/* The sockets that the service manager hands over (sd_listen_fds(3)). */
#ifndef SYSTEMD_SOCKETS_H
#define SYSTEMD_SOCKETS_H

#include "base/error.h"

struct sockets {
    int *fds; /* listening stream sockets, owned */
    size_t n;
};

void sockets_done(struct sockets *sockets);

/*
 * Takes the sockets: none where there is no service manager, or where it has none for this process. Neither a later
 * call nor a child process can take them again. -EINVAL with a sentence where one is not a listening stream socket; all
 * are then closed. -ENOMEM; errors of sd_listen_fds(3).
 */
int sockets_take(struct sockets *ret, struct error *error);

#endif
