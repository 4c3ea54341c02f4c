/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The document of /api/v1/events, the catalogue of events. It is made in a worker thread (worker.h), once for each
 * generation of the machine, while the connections that wait for it are suspended. From then on it is answered from
 * memory, plain and compressed, until no client has asked for a while.
 *
 * It is large. Where clients that are not known ask for it one after the other, answers are held back
 * (refusal-delay.h), so that sending it does not hold up other requests.
 */
#ifndef HTTP_API_EVENTS_H
#define HTTP_API_EVENTS_H

#include "http/site.h"

/* When no client has asked for this time, its memory is given back. */
#define EVENTS_DOCUMENT_IDLE_NS (60 * NSEC_PER_SEC)
/* How often it is answered at once to clients that are not known, to all of them together. */
#define EVENTS_DOCUMENTS_PER_SECOND 50

/* Forgets the one that is held. Call it before the worker is freed. */
void events_document_drop(struct site *site);

#endif
