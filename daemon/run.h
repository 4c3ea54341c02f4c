/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Implements struct service (http/service.h), the interface between the daemon and the HTTP server, for `perfcountd
 * run`.
 */
#ifndef DAEMON_RUN_H
#define DAEMON_RUN_H

#include "daemon/daemon.h"

/* Sets all members of daemon->service except `files`. */
void serving_init(struct daemon *daemon);

#endif
