/* SPDX-License-Identifier: Apache-2.0 */
/* One path and method that the server answers. The table is in routes.c. */
#ifndef HTTP_ROUTE_H
#define HTTP_ROUTE_H

#include "formats/formats.h"
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

#endif
