/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Holds a refusal back: a client that tries one password after the other waits for each answer, at no cost to other
 * clients. So does a client without a password, where many ask at once. Answered at once, a flood of them would keep
 * the event loop busy.
 *
 * Why a client may not start work or change something here, by its standing.
 *
 * Passwords: whether a request has the one of a user of the web configuration.
 *
 * A password that was found right or wrong before is answered at once, whatever else goes on. A new one is checked by
 * the worker while the connection is suspended. Only a few may wait for it, in all and from each address, so that a
 * client that has to come back later learns it soon. Refusals of passwords are held back a little (refusal-delay.h).
 */
#ifndef HTTP_AUTH_H
#define HTTP_AUTH_H

#include "http/request.h"

/*
 * Suspends the connection for that time, or until its suspension is cut short; it goes on with one more in
 * request->delays. False when out of memory: nothing has happened.
 */
bool refusal_delay_start(struct request *request);

/* Learns the standing of the client. A sentence with the remedy; NULL: the client may. `restricted`: operators may. */
const char *refusal_sentence(struct request *request, bool restricted);

/* At most this many passwords wait to be checked, in all and of one address (see peer_counts_have_room()). */
#define CHECKS_MAX 16
#define CHECKS_PER_ADDRESS_MAX 4

enum admission {
    ADMISSION_GRANTED,
    ADMISSION_REFUSED, /* with a reply: 401, 503 */
    ADMISSION_PENDING, /* the connection is suspended; ask again when it goes on */
};

enum admission auth_admit(struct request *request);
/* There must be no requests left. */
struct auth *auth_free(struct auth *auth);

#endif
