/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of everything that the server answers, one row per path and method, and the dispatcher.
 *
 * The dispatcher applies the server's rate limit, checks the password, finds the route by path and method, and checks
 * that the client may use it.
 */
#ifndef HTTP_ROUTES_H
#define HTTP_ROUTES_H

#include "http/handlers.h"
#include "http/request.h"

extern const struct route routes[];
extern const size_t n_routes;

/*
 * Dispatches the request and sets a reply in it. If request->answered is still false afterwards, the connection was
 * suspended, and route_dispatch() must be called again when the connection has been resumed.
 */
void dispatch_request(struct request *request);

#endif
