/* SPDX-License-Identifier: Apache-2.0 */
/* The daemon's side of http/service.h. */
#ifndef DAEMON_RUN_H
#define DAEMON_RUN_H

#include "daemon/daemon.h"

/* Fills in `daemon->service`. */
void serving_init(struct daemon *daemon);

#endif
