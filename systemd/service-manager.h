/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sends messages to the service manager (sd_notify(3)) and takes the descriptors that the service manager passed
 * (sd_listen_fds(3)): sockets to listen on, and a descriptor that is kept while the daemon is restarted.
 *
 * Without a service manager, messages are dropped and there are no sockets.
 */
#ifndef SYSTEMD_SERVICE_MANAGER_H
#define SYSTEMD_SERVICE_MANAGER_H

#include <stdbool.h>

#include "base/error.h"

/* Reports that the daemon is ready, at startup and after a reload. `systemctl status` shows the line `status`. */
void notify_ready(const char *status);
/* Replaces the status line. */
void notify_status(const char *status);
void notify_reloading(void);
void notify_stopping(void);
/*
 * Returns whether a service manager started this very process and receives its messages. Such a service manager can
 * restart the process after a failure. A process started by a service's shell or script inherits the same environment
 * variables, but with the PID of another process.
 */
bool notify_is_received(void);

/*
 * Gives the service manager a duplicate of the descriptor, which replaces any earlier one and is kept until the service
 * is stopped. Requires FileDescriptorStoreMax= in the unit.
 */
void notify_store(int fd);
/* Makes the service manager close the descriptor given by notify_store(). */
void notify_store_nothing(void);

struct sockets {
    int *fds; /* listening stream sockets, closed by sockets_done() */
    size_t n;
    int stored; /* descriptor that the service manager has kept, or -1 */
};

void sockets_done(struct sockets *sockets);

/*
 * Takes the sockets, if any, that the service manager passed to this process. Unsets the environment variables, so that
 * neither a later call nor a child process takes the same sockets again. Returns these errors with a message: -EINVAL
 * if any descriptor is not a listening stream socket, in which case all sockets are closed; -ENOMEM; errors from
 * sd_listen_fds(3).
 */
int sockets_take(struct sockets *ret, struct error *error);

#endif
