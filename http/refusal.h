/* SPDX-License-Identifier: Apache-2.0 */
/* Why a client may not start work or change something here, by its standing. */
#ifndef HTTP_REFUSAL_H
#define HTTP_REFUSAL_H

#include "http/request.h"

/* Learns the standing of the client. A sentence with the remedy; NULL: the client may. `restricted`: operators may. */
const char *refusal_sentence(struct request *request, bool restricted);

#endif
