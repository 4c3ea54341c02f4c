/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rendered responses, kept until there is a new reading: however many clients ask within one reading, each form is
 * rendered and compressed once.
 *
 * The site: all that requests are answered from. The server owns it.
 */
#ifndef HTTP_SITE_H
#define HTTP_SITE_H

#include <microhttpd.h>
#include <sys/queue.h>
#include <systemd/sd-event.h>

#include "base/timer.h"
#include "formats/counters.h"
#include "http/peer.h"
#include "http/security.h"
#include "http/service.h"
#include "http/trust.h"

struct response_key {
    enum counter_format_kind format;
    bool gzip; /* the client takes it */
    uint32_t mask;
};

/* Whether one response serves for both. */
bool response_key_equal(const struct response_key *a, const struct response_key *b);

struct cached_response {
    struct response_key key;
    struct MHD_Response *response; /* NULL: the slot is free */
    uint64_t last_use;
};

#define RESPONSE_CACHE_MAX 8

struct response_cache {
    struct cached_response items[RESPONSE_CACHE_MAX]; /* all of one reading */
    const struct snapshot *snapshot;
    uint64_t generation;
    uint64_t uses;
};

/* Forgets all; also where the headers that responses carry change. */
void response_cache_done(struct response_cache *cache);
/* Forgets responses of another reading. NULL where it must be rendered; borrowed until the next store. */
struct MHD_Response *response_cache_find(struct response_cache *cache, const struct snapshot *snapshot,
                                         const struct response_key *key);
/* Takes over the response, in place of the least recently used. Call it after a find that found nothing. */
void response_cache_store(struct response_cache *cache, const struct response_key *key, struct MHD_Response *response);

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
