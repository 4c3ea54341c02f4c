/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The type of a route, and the handlers in the table of routes.
 *
 * A handler sets a reply in the request, or suspends the request. A handler that does neither has run out of memory.
 */
#ifndef HTTP_HANDLERS_H
#define HTTP_HANDLERS_H

#include "formats/counters.h"
#include "http/request.h"

struct route {
    const char *path;   /* path, or NULL for the telemetry path */
    const char *method; /* "GET" includes HEAD */
    void (*handle)(struct request *request);
    const char *const *parameters; /* NULL-terminated names of the query's parameters; NULL for none */
    bool below;                    /* the route matches all paths that begin with `path` */
    bool json;                     /* the reply is only sent as application/json */
    bool starts;                   /* the route starts work or changes something, so foreign web pages may not use it */
    bool restricted;               /* only operators may use the route */
    enum api_document document;
    const struct sample_format *samples; /* format of a stream of samples */
    const char *example;                 /* query of the example; NULL to omit the route from the list of paths at / */
    const char *help;
};

/* Returns the path of a route on this site. */
static inline const char *route_path(const struct route *route, const struct site *site)
{
    return route->path ? route->path : site->telemetry_path;
}

/* http/page.c */
void handle_index(struct request *request);
void handle_page_file(struct request *request);
/* http/api.c */
void handle_counters(struct request *request);
void handle_rates(struct request *request);
void handle_history(struct request *request);
void handle_document(struct request *request);
/* http/api-events.c */
void handle_events(struct request *request);
/* http/api-samples.c */
void handle_stream(struct request *request);
/* http/api.c */
void handle_healthy(struct request *request);
void handle_ready(struct request *request);
void handle_reload(struct request *request);
void handle_paused(struct request *request);
void handle_pause(struct request *request);
void handle_resume(struct request *request);

/*
 * Takes the second reading for all waiting rate requests now; their replies state the time actually measured. Must be
 * called before shutdown.
 */
void rates_waits_hurry(struct site *site);

#endif
