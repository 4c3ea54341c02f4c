/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Admission of requests: passwords, delayed refusals, and the permission to start work.
 *
 * A password that was checked before is accepted or refused at once. A new one is checked by a worker thread
 * (http/worker.h) while the connection is suspended. The number of waiting checks is limited, in total and per address,
 * so that a client that must retry learns it soon.
 *
 * Refusals are delayed: a client that tries one password after another waits for each reply, at no cost to other
 * clients. Clients that send no password are delayed too if many of them ask at once, because a flood of them would
 * keep the event loop busy.
 */
#ifndef HTTP_AUTH_H
#define HTTP_AUTH_H

#include "http/request.h"

/*
 * Suspends the connection for 250 ms, or until its suspension is cut short. The request is then answered again, with
 * request->delays incremented. Returns false when out of memory; nothing has changed then.
 */
bool refusal_delay_start(struct request *request);

/*
 * Determines the trust of the client. Returns NULL if it may proceed, else a sentence with a remedy. `restricted`
 * means that only operators may proceed.
 */
const char *refusal_sentence(struct request *request, bool restricted);

/* Limits of the passwords that wait to be checked, in total and for each address (peer_counts_have_room()). */
#define CHECKS_MAX 16
#define CHECKS_PER_ADDRESS_MAX 4

enum admission {
    ADMISSION_GRANTED,
    ADMISSION_REFUSED, /* the reply is set: 401 or 503 */
    ADMISSION_PENDING, /* the connection is suspended; call again after its resumption */
};

enum admission auth_admit(struct request *request);
/* All requests must have ended. */
struct auth *auth_free(struct auth *auth);

#endif
