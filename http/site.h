/* SPDX-License-Identifier: Apache-2.0 */
/* The site: all that requests are answered from. The server owns it. */
#ifndef HTTP_SITE_H
#define HTTP_SITE_H

#include <sys/queue.h>
#include <systemd/sd-event.h>

#include "base/token-bucket.h"
#include "http/peer-count.h"
#include "http/response-cache.h"
#include "http/security.h"
#include "http/service.h"
#include "http/trust.h"

struct auth;
struct compression;
struct events_document;
struct rates_wait;
struct request;
struct route;
struct worker;

struct site {
    sd_event *event;
    const struct service *service;
    const struct route *routes; /* the table of routes.h */
    size_t n_routes;
    char *telemetry_path;
    struct security *security; /* in force now; never NULL. Another one after any turn of the event loop */
    struct standing_rules standing_rules;
    struct auth *auth;                   /* NULL until there is a password to check */
    struct token_bucket requests;        /* of all clients */
    struct token_bucket challenges;      /* of requests without a password, where one is asked for */
    struct token_bucket event_documents; /* sent to clients that are not known */
    struct response_cache cache;
    struct worker *compressor; /* NULL until something large is compressed; see compression.h */
    LIST_HEAD(, compression) compressions;
    struct events_document *events; /* NULL: there is none, or it is outdated */
    struct peer_counts rates_waits; /* clients that wait for their second reading */
    LIST_HEAD(, rates_wait) rates;  /* their waits */
    /* Leaves a reply in a request, or has its connection suspended: see dispatch.h. */
    void (*answer)(struct request *request);
    /* Has the server check whether files of its web configuration have changed; called before anything depends on them.
     */
    void (*check_files)(void *userdata);
    void *check_files_userdata;
};

#endif
