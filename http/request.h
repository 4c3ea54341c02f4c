/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One request of a client, and the reply that is being made for it.
 *
 * A handler leaves its reply in the request. The reply is queued in libmicrohttpd's next callback: at once or, if the
 * request was suspended, in the callback that follows its resumption.
 *
 * The functions of offers and codings evaluate the q-values of the headers Accept and Accept-Encoding (RFC 9110,
 * sections 12.4 and 12.5). These headers may be repeated; each line is considered in turn. These functions are pure.
 */
#ifndef HTTP_REQUEST_H
#define HTTP_REQUEST_H

#include <microhttpd.h>
#include <sys/queue.h>

#include "base/util.h"
#include "http/password.h"
#include "http/peer.h"
#include "http/site.h"
#include "http/trust.h"

/* A media type that can be sent, and the client's preference for it. */
struct offer {
    const char *type, *subtype;
    const char *version;  /* the parameter "version", or NULL; other parameters are ignored */
    unsigned quality;     /* 0 to QUALITY_MAX */
    unsigned specificity; /* how specific the media range is that matched; 0: none matched */
};

/* Evaluates one line of the header Accept. The most specific media range of all lines decides. */
void offer_consider(struct offer *offer, const char *accept);

/* The client's preferences for content codings. */
struct codings {
    int gzip, identity, any; /* 0 to QUALITY_MAX; -1: not named */
};
#define CODINGS_NONE ((struct codings){-1, -1, -1})

void codings_consider(struct codings *codings, const char *accept_encoding);
bool codings_want_gzip(const struct codings *codings);

/* The suspension of a request, registered by the code that will resume it. */
struct suspension {
    bool active; /* the connection is suspended in libmicrohttpd */
    /* Called when the request ends; releases the timer or job that would resume it. May be NULL. */
    void (*cancel)(struct request *request);
    /* Resumes the request now. NULL if it does not wait for a delay to pass. */
    void (*cut_short)(struct request *request);
    void *userdata;            /* argument of `cancel` and `cut_short` */
    LIST_ENTRY(request) entry; /* links requests that wait for the same event */
};

LIST_HEAD(waiting_requests, request);

/* A parameter of the query. Both strings are UTF-8, and valid until the request ends. */
struct query_parameter {
    const char *name, *value; /* `value` is "" if there is none */
};

struct route;

struct request {
    struct site *site;
    struct MHD_Connection *mhd;
    const char *method, *path;
    const struct route *route;          /* NULL: it was refused, or is not dispatched yet */
    struct query_parameter *parameters; /* the query, in the order of the URL: request_parse_query() */
    size_t n_parameters;
    const struct peer *peer;
    enum trust trust;            /* trust of the client; only set for routes that not every client may use */
    bool certified;              /* the client is known by its certificate: tls_peer_is_known() */
    bool seen;                   /* the first callback was made, with the headers of the request */
    bool counted;                /* counted against the rate limit */
    bool answered;               /* its handler has run, or it was refused */
    bool bad_encoding;           /* the URL has bad percent-encoding */
    bool query_too_long;         /* the query was removed before libmicrohttpd parsed it */
    enum password_result result; /* result of checking the password */
    unsigned delays;             /* how often its refusal was delayed */
    struct suspension suspension;
    unsigned status;
    struct MHD_Response *response; /* NULL: no reply yet */
    bool borrowed;                 /* the response belongs to site->cache */
    void (*wake)(void *userdata);  /* schedules a run of libmicrohttpd */
    void *wake_userdata;
};

/* Whether every % is followed by two hexadecimal digits that are not 00 (RFC 3986, section 2.1). Pure. */
bool request_uri_is_valid(const char *uri);
/* Begins the connection's next request. `uri` is the raw URI that the client sent. */
void request_begin(struct request *request, struct site *site, struct MHD_Connection *mhd, const struct peer *peer,
                   const char *uri);
/* Releases everything the request holds. Also called if the client disconnects. */
void request_end(struct request *request);

/* Sets the function that is called when the request ends; NULL: none. */
void request_on_end(struct request *request, void (*cancel)(struct request *request), void *userdata);
/* Like request_on_end(), and suspends the connection if it is not suspended. */
void request_suspend(struct request *request, void (*cancel)(struct request *request), void *userdata);
/*
 * Suspends the connection and adds the request to a list of requests that wait for the same event. The request leaves
 * the list when it ends.
 */
void request_suspend_in(struct request *request, struct waiting_requests *list);
/* Removes the first request from the list, so that the caller can resume it. Returns NULL if the list is empty. */
struct request *waiting_requests_take(struct waiting_requests *list);
/* Resumes a suspended connection. The event loop then queues the reply. */
void request_resume(struct request *request);
/* Passes the reply to libmicrohttpd. If there is no reply, returns MHD_NO, which closes the connection. */
enum MHD_Result request_queue(struct request *request);

/*
 * Fills in the parameters of the query. Returns -EINVAL, with the name in the error, for a parameter that is not in
 * `known` (NULL-terminated; NULL: none is known) or is not UTF-8; -ENOMEM.
 */
int request_parse_query(struct request *request, const char *const *known, struct error *error);

/* Whether the client has shown a right password, or is known by its certificate. */
bool request_is_authenticated(const struct request *request);
/* The first value of a header, or NULL. */
const char *request_header(const struct request *request, const char *name);
/*
 * Finds the client's preference for each offer. Without an Accept header, all are equal. Returns whether the client
 * wants gzip.
 */
bool request_negotiate(struct request *request, struct offer *offers, size_t n);

#endif
