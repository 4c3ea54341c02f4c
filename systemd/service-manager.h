/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages to the service manager (sd_notify(3)) and descriptors from it (sd_listen_fds(3)): sockets to listen on, and
 * the descriptor that it kept while the daemon was restarted.
 *
 * Without a service manager, messages are dropped and there are no sockets.
 */
#ifndef SYSTEMD_SERVICE_MANAGER_H
#define SYSTEMD_SERVICE_MANAGER_H

#include <stdbool.h>

#include "base/error.h"

/* Reports that the daemon serves, at startup and after a reload. `status` is a line for `systemctl status`. */
void notify_ready(const char *status);
/* Replaces the status line. */
void notify_status(const char *status);
void notify_reloading(void);
void notify_stopping(void);
/*
 * Whether a service manager started this process itself and receives its messages, so that it can restart it after a
 * failure. A process below a service's shell or script inherits the same variables, but with another PID in them.
 */
bool notify_is_received(void);

/*
 * Gives the service manager a duplicate of the descriptor to keep until the service is stopped. It replaces an earlier
 * one. Requires FileDescriptorStoreMax= in the unit.
 */
void notify_store(int fd);
/* Makes the service manager close the descriptor that it keeps. */
void notify_store_nothing(void);

struct sockets {
    int *fds; /* listening stream sockets, owned */
    size_t n;
    int stored; /* the descriptor that the service manager kept, owned; -1: none */
};

void sockets_done(struct sockets *sockets);

/*
 * Takes the sockets that the service manager passed to this process, possibly none. Unsets the environment variables,
 * so that neither a later call nor a child process takes them again. Returns -EINVAL if one is not a listening stream
 * socket; all are then closed. Also returns -ENOMEM or an error of sd_listen_fds(3), all with a sentence.
 */
int sockets_take(struct sockets *ret, struct error *error);

#endif
