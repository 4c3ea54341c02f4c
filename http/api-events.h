/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The document of /api/v1/events, the catalogue of events.
 *
 * It is written and compressed by a worker thread (http/worker.h), once for each generation of the machine; connections
 * that wait for it are suspended. After that it is served from memory, plain and compressed, until no client has asked
 * for it for EVENTS_DOCUMENT_IDLE_NS.
 *
 * The document is large. If unknown clients request it in quick succession, their replies are delayed (http/auth.h), so
 * that sending it does not hold up other requests.
 */
#ifndef HTTP_API_EVENTS_H
#define HTTP_API_EVENTS_H

#include "http/site.h"

/* The document is freed after this time without a request. */
#define EVENTS_DOCUMENT_IDLE_NS (60 * NSEC_PER_SEC)
/* How often it is sent without delay to unknown clients, counted over all of them. */
#define EVENTS_DOCUMENTS_PER_SECOND 50

/* Frees the document, or abandons the one being made. Must be called before the worker is freed. */
void events_document_drop(struct site *site);

#endif
