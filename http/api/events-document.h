/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The catalogue of events, as it is served: an edition of it is made in a worker thread (worker.h), once for each
 * generation of the machine, while the connections that wait for it are suspended. From then on it is answered from
 * memory, plain and compressed, until nobody has asked for a while.
 *
 * It is large. Where clients that are not known ask for it one after the other, answers are held back (penalty.h), so
 * that sending it does not hold up what else is asked.
 */
#ifndef HTTP_API_EVENTS_DOCUMENT_H
#define HTTP_API_EVENTS_DOCUMENT_H

#include "http/request.h"

/* Nobody has asked for it so long: its memory is given back. */
#define EVENTS_DOCUMENT_IDLE_NS (60 * NSEC_PER_SEC)
/* So often it is answered at once to clients that are not known, to all of them together. */
#define EVENTS_DOCUMENTS_PER_SECOND 50

/* Leaves a reply (200, 503), has the connection suspended, or is called again after a penalty. */
void events_document_answer(struct request *request, bool gzip);
/* The request waits no longer; does not resume the connection. */
void events_document_leave(struct request *request);
/* Forgets the one that is held, as it is done by itself after a while. Before the worker is freed. */
void events_document_drop(struct site *site);

#endif
