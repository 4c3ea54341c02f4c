/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The catalogue of events, which is the document at /api/v1/events.
 *
 * The document is written and compressed by a worker thread (http/worker.h), once for each generation of the catalogue;
 * connections that wait for the document are suspended. The finished document is served from memory, plain and
 * compressed, until no client has requested it for EVENTS_DOCUMENT_IDLE_NS.
 *
 * If unknown clients request this large document in quick succession, their replies are delayed (http/auth.h), so that
 * other requests are not held up.
 */
#ifndef HTTP_API_EVENTS_H
#define HTTP_API_EVENTS_H

#include "http/site.h"

/* The document is freed after this time without a request for it. */
#define EVENTS_DOCUMENT_IDLE_NS (60 * NSEC_PER_SEC)
/* How many times per second the document is sent without delay to all unknown clients together. */
#define EVENTS_DOCUMENTS_PER_SECOND 50

/* Frees the document, or abandons it if it is unfinished. Must be called before the worker is freed. */
void events_document_drop(struct site *site);

#endif
