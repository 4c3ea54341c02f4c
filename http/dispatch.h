/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a request to its handler: past the rate limit of the whole server and its password, by path and method to its
 * route, and only where its client is trusted as far as the route demands.
 */
#ifndef HTTP_DISPATCH_H
#define HTTP_DISPATCH_H

#include "http/request.h"

/*
 * Leaves a reply in the request or, without request->answered, has its connection suspended: then it is called again
 * when the connection goes on.
 */
void dispatch_request(struct request *request);

#endif
