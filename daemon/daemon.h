/* SPDX-License-Identifier: Apache-2.0 */
/* The daemon: a session served over HTTP from one event loop. */
#ifndef DAEMON_DAEMON_H
#define DAEMON_DAEMON_H

#include "daemon/options.h"

/* Serves until SIGTERM or SIGINT. Returns the exit status: 0, 1 (run time) or 2 (configuration, addresses). */
int daemon_run(const struct options *options);

#endif
