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
 * Takes what was handed over: none where there is no service manager, or it has none for us. What runs later cannot
 * take them again. -EINVAL with a sentence where one is no listening stream socket; then all are closed.
 */
int sockets_take(struct sockets *ret, struct error *error);

#endif
