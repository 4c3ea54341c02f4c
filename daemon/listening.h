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

/* Errors of sockets_take(), server_adopt() and server_listen(). */
int listening_start(struct listening *listening, struct server *server, const struct config_web *web,
                    struct error *error);
/* After a reload. */
int listening_follow(struct listening *listening, struct server *server, const struct config_web *web,
                     struct error *error);

#endif
