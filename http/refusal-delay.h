/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Holds a refusal back: a client that tries one password after the other waits for each answer, at no cost to other
 * clients. So does a client without a password, where many ask at once. Answered at once, a flood of them would keep
 * the event loop busy.
 */
#ifndef HTTP_REFUSAL_DELAY_H
#define HTTP_REFUSAL_DELAY_H

#include "http/request.h"

#define REFUSAL_DELAY_NS (250 * NSEC_PER_MSEC)

/*
 * Suspends the connection for that time, or until its suspension is cut short; it goes on with one more in
 * request->delays. False when out of memory: nothing has happened.
 */
bool refusal_delay_start(struct request *request);

#endif
