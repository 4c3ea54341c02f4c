/* SPDX-License-Identifier: Apache-2.0 */
/* What there is to ask for: one row per path and method. */
#ifndef HTTP_ROUTES_H
#define HTTP_ROUTES_H

#include "formats/formats.h"
#include "http/request.h"

struct route {
    const char *path;   /* NULL: the telemetry path */
    const char *method; /* "GET" includes HEAD */
    void (*handle)(struct request *request, const struct route *route);
    const char *const *parameters; /* of the query, NULL-terminated; NULL for none */
    bool json;                     /* sends application/json and nothing else */
    bool starts;                   /* work, or changes something: not for pages of others */
    bool restricted;               /* for operators only */
    enum service_document document;
    const struct sample_format *samples; /* of a stream */
    const char *example;                 /* the query to try it with; NULL leaves it out of the page of links */
    const char *help;
};

extern const struct route routes[];
extern const size_t n_routes;

/* The path of a route as this site has it. */
const char *route_path(const struct route *route, const struct site *site);
/*
 * Finds who answers and has it done; what nobody answers gets its error. A route for the operator answers who
 * request_is_operator() says is one; 403 for others.
 */
void routes_answer(struct request *request);

#endif
