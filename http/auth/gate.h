/* SPDX-License-Identifier: Apache-2.0 */
/* What a request passes on its way to its route: the rate limit of the whole server, then its password. */
#ifndef HTTP_AUTH_GATE_H
#define HTTP_AUTH_GATE_H

#include "http/request.h"

/*
 * Leaves a reply in the request or, without request->answered, has its connection suspended: then it is called again
 * when the connection goes on.
 */
void gate_answer(struct request *request);

#endif
