/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One path and method that the server answers. The table is in routes.c.
 *
 * The functions that the table of routes names. Each leaves a reply or a wait in the request, or nothing: no memory.
 */
#ifndef HTTP_HANDLERS_H
#define HTTP_HANDLERS_H

#include "formats/counters.h"
#include "http/request.h"

struct route {
    const char *path;   /* NULL: the telemetry path */
    const char *method; /* "GET" includes HEAD */
    void (*handle)(struct request *request, const struct route *route);
    const char *const *parameters; /* of the query, NULL-terminated; NULL for none */
    bool below;                    /* also for all paths that begin with it */
    bool json;                     /* sends application/json and nothing else */
    bool starts;                   /* starts work or changes something: not for pages of others */
    bool restricted;               /* for operators only */
    enum service_document document;
    const struct sample_format *samples; /* of a stream */
    const char *example;                 /* the query to try it with; NULL leaves it out of the list of paths */
    const char *help;
};

/* The path of a route as this site has it. */
static inline const char *route_path(const struct route *route, const struct site *site)
{
    return route->path ? route->path : site->telemetry_path;
}

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
