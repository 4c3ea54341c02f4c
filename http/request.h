/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One request: what the client asked and takes, and the reply that is being made for it.
 *
 * A handler leaves its reply in the request. It is queued when libmicrohttpd calls next, at once or, after a wait, on
 * the call that follows the resumption.
 */
#ifndef HTTP_REQUEST_H
#define HTTP_REQUEST_H

#include <microhttpd.h>
#include <systemd/sd-event.h>

#include "base/buffer.h"
#include "base/token-bucket.h"
#include "http/accept.h"
#include "http/auth/password-cache.h"
#include "http/auth/security.h"
#include "http/auth/standing.h"
#include "http/auth/trust.h"
#include "http/peer.h"
#include "http/response-cache.h"
#include "http/service.h"

struct auth;
struct check;
struct refusal_delay;
struct feed;
struct compression;
struct rates_wait;
struct events_document;
struct worker;

/* What requests are answered from; the server owns it. */
struct site {
    sd_event *event;
    struct security *security; /* what holds now; never NULL. Another one after any turn of the event loop */
    const struct service *service;
    char *telemetry_path;
    struct response_cache pages;
    struct worker *packer;           /* NULL until something large is compressed; see compression.h */
    struct compression *packings;    /* all that wait or run */
    struct auth *auth;               /* NULL until there is a password to check */
    struct events_document *edition; /* of the catalogue of events; NULL: there is none, or it is outdated */
    struct token_bucket editions;    /* of its answers to clients that are not known */
    struct token_bucket bucket;      /* of all requests */
    struct trust trust;
    struct token_bucket challenges; /* of those without a password, where one is asked for */
    struct rates_wait *waits;       /* all that wait for their second reading */
    /* Has the server look whether the files of its web configuration have changed; before what depends on them. */
    void (*look)(void *userdata);
    void *look_userdata;
};

struct request {
    struct site *site;
    struct MHD_Connection *mhd;
    const char *method, *path;
    const struct peer *peer;
    enum standing standing; /* of its client, where its route is for some of them only */
    bool certified;         /* the client has shown a certificate, and it was verified */
    bool seen;              /* libmicrohttpd has announced it */
    bool counted;           /* against the rate limit */
    bool answered;          /* its handler has run, or it was refused */
    bool bad_encoding;      /* of the URL */
    bool query_too_long;    /* libmicrohttpd was not shown it */
    enum verdict verdict;   /* on its password */
    unsigned status;
    struct MHD_Response *response; /* NULL as long as there is none */
    bool borrowed;                 /* the response belongs to site->pages */
    /* One that is not NULL: the connection is suspended. */
    struct check *check;             /* of its password */
    struct refusal_delay *penalty;   /* its refusal is held back */
    unsigned penalties;              /* so often it was */
    struct rates_wait *wait;         /* for its second reading */
    struct compression *packing;     /* its response is being compressed */
    struct request *next_packed;     /* of the same packing */
    struct events_document *edition; /* is being made */
    struct request *next_waiting;    /* for the same edition */
    struct feed *feed;               /* a response that goes on; it knows itself whether it is suspended */
    void (*wake)(void *userdata);    /* has libmicrohttpd run soon */
    void *wake_userdata;
};

/* Starts anew on the connection; `uri` is as the client sent it. */
void request_begin(struct request *request, struct site *site, struct MHD_Connection *mhd, const struct peer *peer,
                   const char *uri);
/* Frees what is left, also after a client that went away. */
void request_end(struct request *request);
/*
 * Whether its headers can be read in two ways (framing.h), so that a proxy in front may see another request in it; then
 * there is a reply. `version` is that of the request line, as libmicrohttpd has it.
 */
bool request_refuse_framing(struct request *request, const char *version);
/* Whether it announces a body that nobody will read; then there is a reply. */
bool request_refuse_body(struct request *request);
/* Whether the connection is suspended. */
bool request_waits(const struct request *request);
/* Goes on with a suspended connection: queues the reply from the event loop. */
void request_resume(struct request *request);
/* Hands the reply to libmicrohttpd; MHD_NO (close the connection) where there is none. */
enum MHD_Result request_queue(struct request *request);

/*
 * Calls `take` for each parameter of the query, until one fails. A parameter that is not in `known` (NULL-terminated)
 * is -EINVAL, with its name.
 */
typedef int (*take_parameter)(void *userdata, const char *name, const char *value, struct error *error);
int request_parameters(struct request *request, const char *const *known, take_parameter take, void *userdata,
                       struct error *error);

/* How far its client is trusted; after auth_admit(), where passwords are asked for. */
enum standing request_standing(struct request *request);

/* Whether the client has shown a right password, or a certificate that was verified. */
bool request_is_authenticated(const struct request *request);
/* The first value of a header, or NULL. */
const char *request_header(struct request *request, const char *name);
/* Weighs the offers; without an Accept all are welcome. Returns whether the client wants gzip. */
bool request_negotiate(struct request *request, struct offer *offers, size_t n);
/* Whether its path is below /api/, where errors are JSON. */
bool request_is_api(const struct request *request);

#endif
