/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the server listens: on the sockets that the service manager handed over, if there are any, else where flags and
 * configuration say.
 */
#ifndef DAEMON_LISTENING_H
#define DAEMON_LISTENING_H

#include "config/config.h"
#include "http/server.h"

struct listening {
    bool handed_over;
    bool told; /* that the configuration's addresses are ignored */
};

/* Has the server listen on what was handed over, if anything was. Errors of sockets_take() and server_adopt(). */
int listening_adopt(struct listening *listening, struct server *server, struct error *error);
/* Tells, once, that addresses which somebody chose are ignored. */
void listening_check(struct listening *listening, const struct config_web *web);

#endif
