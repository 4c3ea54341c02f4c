/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Admission of requests: passwords, delayed refusals, and the permission to start work.
 *
 * A password that was checked before is accepted or refused at once. A new password is checked by a worker thread
 * (http/worker.h) while the connection is suspended. The number of waiting checks is limited, in total and per address,
 * so that a client soon learns that it has to retry.
 *
 * Refusals are delayed: a client that tries one password after another waits for each reply, at no cost to other
 * clients. Refusals of clients that send no password are delayed as well if there are many at once, because a flood of
 * such requests would keep the event loop busy.
 */
#ifndef HTTP_AUTH_H
#define HTTP_AUTH_H

#include "http/request.h"

/*
 * Suspends the connection for 250 ms, or until the delay is cut short. Then increments request->delays, and has the
 * request handled again. Returns false, without any effect, when out of memory.
 */
bool refusal_delay_start(struct request *request);

/*
 * Determines how far the client is trusted. Returns NULL if the client may proceed, or else a sentence that gives the
 * reason and a remedy. If `restricted` is true, only operators may proceed.
 */
const char *refusal_sentence(struct request *request, bool restricted);

/* Maximum number of waiting password checks, in total and for each address (peer_counts_have_room()). */
#define CHECKS_MAX 16
#define CHECKS_PER_ADDRESS_MAX 4

enum admission {
    ADMISSION_GRANTED,
    ADMISSION_REFUSED, /* the request has a reply with the status 401, 403 or 503 */
    ADMISSION_PENDING, /* the connection is suspended; call again once it is resumed */
};

enum admission auth_admit(struct request *request);
/* Frees the state of authentication. All requests must have ended. */
struct auth *auth_free(struct auth *auth);

#endif
