/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All that the server answers: one row for each path and method.
 *
 * From a request to its handler: past the rate limit of the whole server and its password, by path and method to its
 * route, and only where its client is trusted as far as the route demands.
 */
#ifndef HTTP_ROUTES_H
#define HTTP_ROUTES_H

#include "http/handlers.h"
#include "http/request.h"

extern const struct route routes[];
extern const size_t n_routes;

/*
 * Leaves a reply in the request or, without request->answered, has its connection suspended: then it is called again
 * when the connection goes on.
 */
void dispatch_request(struct request *request);

#endif
