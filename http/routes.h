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
 * Sets a reply in the request. If request->answered is still false, the connection was suspended, and the function must
 * be called again after its resumption.
 */
void dispatch_request(struct request *request);

#endif
