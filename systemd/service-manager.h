/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages to the service manager (sd_notify(3)); without one nothing happens.
 *
 * The sockets that the service manager hands over (sd_listen_fds(3)).
 */
#ifndef SYSTEMD_SERVICE_MANAGER_H
#define SYSTEMD_SERVICE_MANAGER_H

#include <stdbool.h>

#include "base/error.h"

/* The daemon serves; sent also at the end of a reload. `status` is a line for `systemctl status`. */
void notify_ready(const char *status);
/* Replaces that line. */
void notify_status(const char *status);
void notify_reloading(void);
void notify_stopping(void);
/*
 * Whether a service manager started this very process and hears its messages, so that it may start another when this
 * one fails. A shell or a script inherits the same variables, with the number of another process in them.
 */
bool notify_is_heard(void);

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
