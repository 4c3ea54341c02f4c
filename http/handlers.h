/* SPDX-License-Identifier: Apache-2.0 */
/* The functions that the table of routes names. Each leaves a reply or a wait in the request, or nothing: no memory. */
#ifndef HTTP_HANDLERS_H
#define HTTP_HANDLERS_H

#include "http/route.h"

/* index.c */
void handle_index(struct request *request, const struct route *route);
/* page.c */
void handle_page_file(struct request *request, const struct route *route);
/* documents.c */
void handle_counters(struct request *request, const struct route *route);
void handle_rates(struct request *request, const struct route *route);
void handle_document(struct request *request, const struct route *route);
/* events-document.c */
void handle_events(struct request *request, const struct route *route);
/* feed.c */
void handle_stream(struct request *request, const struct route *route);
/* control.c */
void handle_healthy(struct request *request, const struct route *route);
void handle_ready(struct request *request, const struct route *route);
void handle_reload(struct request *request, const struct route *route);
void handle_paused(struct request *request, const struct route *route);
void handle_pause(struct request *request, const struct route *route);
void handle_resume(struct request *request, const struct route *route);

#endif
