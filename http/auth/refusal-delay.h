/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A refusal that is held back: who tries one password after the other waits for each answer, at no cost to anybody
 * else. So does a client without a password, where many ask at once. Answered at once, a flood of them would keep the
 * event loop busy.
 */
#ifndef HTTP_AUTH_REFUSAL_DELAY_H
#define HTTP_AUTH_REFUSAL_DELAY_H

#include "http/request.h"

#define REFUSAL_DELAY_NS (250 * NSEC_PER_MSEC)

/* Suspends the connection; it goes on with one more in request->penalties. False when out of memory: nothing has
 * happened. */
bool refusal_delay_start(struct request *request);
/* Goes on at once, where its refusal is held back. */
void refusal_delay_end(struct request *request);
/* The request waits no longer; does not resume the connection. */
struct refusal_delay *refusal_delay_free(struct refusal_delay *penalty);

#endif
