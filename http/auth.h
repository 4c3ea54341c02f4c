/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Passwords: whether a request has the one of a user of the web configuration.
 *
 * A password that was found right or wrong before is answered at once, whatever else goes on. A new one is checked by
 * the worker while the connection is suspended. Only a few may wait for it, in all and from each address, so that a
 * client that has to come back later learns it soon. Refusals of passwords are held back a little (refusal-delay.h).
 */
#ifndef HTTP_AUTH_H
#define HTTP_AUTH_H

#include "http/request.h"

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
