/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The site is the state from which all requests are answered; the server owns it.
 *
 * Rendered responses are cached until the next reading: however many clients send requests until then, each form of the
 * snapshot is rendered and compressed only once.
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
    bool gzip; /* whether the client accepts gzip */
    uint32_t mask;
};

struct cached_response {
    struct response_key key;
    struct MHD_Response *response; /* NULL if the slot is free */
    uint64_t last_use;
};

#define RESPONSE_CACHE_MAX 8

struct response_cache {
    struct cached_response items[RESPONSE_CACHE_MAX]; /* all responses are from the same reading */
    const struct snapshot *snapshot;
    uint64_t generation;
    uint64_t uses;
};

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
    const struct route *routes; /* the table of http/routes.h */
    size_t n_routes;
    char *telemetry_path;
    struct security *security; /* current settings, never NULL; may be replaced in any iteration of the event loop */
    struct trust_rules trust_rules;
    struct auth *auth;                   /* NULL until there is a password to check */
    struct token_bucket requests;        /* rate limit of all requests, counted over all clients */
    struct token_bucket challenges;      /* rate limit of requests that lack a required password */
    struct token_bucket event_documents; /* rate limit of sending the catalogue to unknown clients */
    struct response_cache cache;
    struct worker *compressor; /* worker for compression (http/reply.h); NULL until first used */
    LIST_HEAD(, compression) compressions;
    struct events_document *events; /* catalogue of events; NULL if not written yet or outdated */
    struct peer_counts rates_waits; /* number of clients at each address that wait for a second reading */
    LIST_HEAD(, rates_wait) rates;  /* clients that wait for a second reading */
    /* Loads the files of the web configuration again if they have changed. Called whenever a client arrives. */
    void (*check_files)(struct site *site);
};

#endif
