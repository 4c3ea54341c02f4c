/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the server listens: on the sockets that the service manager handed over, if there are any, else where flags and
 * configuration say.
 */
#ifndef DAEMON_LISTENING_H
#define DAEMON_LISTENING_H

#include "config/config.h"
#include "daemon/fd-budget.h"
#include "http/server.h"

struct listening {
    bool handed_over; /* by the service manager */
    bool warned;      /* that the configuration's addresses are ignored */
};

/* Has the server listen on what was handed over, if anything was. Errors of sockets_take() and server_adopt(). */
int listening_adopt(struct listening *listening, struct server *server, struct error *error);
/*
 * Gives the server what `config` says of it, and at most as many clients as there are descriptors for in `budget`.
 * Warns, once, where its addresses are ignored. Errors of server_configure().
 */
int listening_configure(struct listening *listening, struct server *server, const struct config *config,
                        const struct fd_budget *budget, struct error *error);

#endif
