/* SPDX-License-Identifier: Apache-2.0 */
/* The daemon as the HTTP server sees it: implements struct service (http/service.h) for `perfcountd run`. */
#ifndef DAEMON_RUN_H
#define DAEMON_RUN_H

#include "daemon/daemon.h"

/* Fills in `daemon->service`, except `files`. */
void serving_init(struct daemon *daemon);

#endif
