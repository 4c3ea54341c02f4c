/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Passwords: whether a request has the one of a user of the web configuration.
 *
 * What was found right or wrong before is answered at once, whatever else goes on. A new password is checked by the
 * worker while the connection is suspended; so few may wait for it, in all and from each address, that whoever must
 * come back later is told soon. Refusals of what was sent are held back a little (refusal-delay.h).
 */
#ifndef HTTP_AUTH_AUTH_H
#define HTTP_AUTH_AUTH_H

#include "http/request.h"

/* So many passwords may wait to be checked; a unix socket, where all clients look the same, has half of them. */
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

/* Its client has left, or its answer is there. */
struct check *check_free(struct check *check);

#endif
