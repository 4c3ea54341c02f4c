/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A client's request and its reply.
 *
 * A handler leaves its reply in the request. The reply is queued in libmicrohttpd's next callback: at once or, if the
 * request was suspended, in the callback that follows its resumption.
 *
 * The pure functions offer_*() and codings_*() evaluate the q-values in the headers Accept and Accept-Encoding (RFC
 * 9110, sections 12.4 and 12.5). These headers may be repeated; each line is considered in turn.
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
    unsigned specificity; /* how specific the matching media range is; 0 if none matched */
};

/* Evaluates one Accept header line. The most specific matching media range of all lines decides. */
void offer_consider(struct offer *offer, const char *accept);

/* The client's preferences for content codings. */
struct codings {
    int gzip, identity, any; /* q-values, 0 to QUALITY_MAX; -1 if not named */
};
#define CODINGS_NONE ((struct codings){-1, -1, -1})

void codings_consider(struct codings *codings, const char *accept_encoding);
bool codings_want_gzip(const struct codings *codings);

/* The suspension of a request, registered by the code that will resume it. */
struct suspension {
    bool active; /* the connection is suspended in libmicrohttpd */
    /* Called when the request ends; releases the timer or job that would resume the request. May be NULL. */
    void (*cancel)(struct request *request);
    /* Ends a delay of the request early. NULL if the request is not waiting for a delay to end. */
    void (*cut_short)(struct request *request);
    void *userdata;            /* argument of `cancel` and `cut_short` */
    LIST_ENTRY(request) entry; /* links the requests that wait for the same event */
};

LIST_HEAD(waiting_requests, request);

/* A parameter of the query; name and value are UTF-8, and valid until the request ends. */
struct query_parameter {
    const char *name, *value; /* a missing value is "" */
};

struct route;

struct request {
    struct site *site;
    struct MHD_Connection *mhd;
    const char *method, *path;
    const struct route *route;          /* NULL if the request was refused or has not been dispatched */
    struct query_parameter *parameters; /* parameters in URL order, set by request_parse_query() */
    size_t n_parameters;
    const struct peer *peer;
    enum trust trust;            /* trust in the client; only set for routes with restricted access */
    bool certified;              /* the client is known by its certificate (tls_peer_is_known()) */
    bool seen;                   /* libmicrohttpd has made the first callback for this request */
    bool counted;                /* the request was counted against the rate limit */
    bool answered;               /* the handler has run, or the request was refused */
    bool bad_encoding;           /* the URL has invalid percent-encoding */
    bool query_too_long;         /* the query was too long, and was removed before libmicrohttpd parsed it */
    enum password_result result; /* result of checking the request's password */
    unsigned delays;             /* how many times the reply was delayed */
    struct suspension suspension;
    unsigned status;
    struct MHD_Response *response; /* the reply, or NULL if there is none yet */
    bool borrowed;                 /* `response` belongs to site->cache */
    void (*wake)(void *userdata);  /* function that schedules a run of libmicrohttpd */
    void *wake_userdata;
};

/* Returns whether every % is followed by two hexadecimal digits that are not 00 (RFC 3986, section 2.1). Pure. */
bool request_uri_is_valid(const char *uri);
/* Begins the connection's next request. `uri` is the raw URI that the client sent. */
void request_begin(struct request *request, struct site *site, struct MHD_Connection *mhd, const struct peer *peer,
                   const char *uri);
/* Releases everything that the request owns. Must also be called if the client disconnects. */
void request_end(struct request *request);

/* Sets the function that is called when the request ends; NULL: none. */
void request_on_end(struct request *request, void (*cancel)(struct request *request), void *userdata);
/* Like request_on_end(), but also suspends the connection, unless it is already suspended. */
void request_suspend(struct request *request, void (*cancel)(struct request *request), void *userdata);
/*
 * Suspends the connection, and adds the request to a list of requests that wait for the same event. A request that ends
 * leaves the list.
 */
void request_suspend_in(struct request *request, struct waiting_requests *list);
/* Removes the first request from the list, for the caller to resume, or returns NULL if the list is empty. */
struct request *waiting_requests_take(struct waiting_requests *list);
/* Resumes a suspended connection, so that the event loop queues the reply. */
void request_resume(struct request *request);
/* Passes the reply to libmicrohttpd. Returns MHD_NO, which closes the connection, if the request has no reply. */
enum MHD_Result request_queue(struct request *request);

/*
 * Fills in request->parameters from the query. `known` is a NULL-terminated list of names, or NULL. Returns -EINVAL,
 * with the parameter's name in the error, for a parameter that is not in `known` or is not UTF-8. Returns -ENOMEM when
 * out of memory.
 */
int request_parse_query(struct request *request, const char *const *known, struct error *error);

/* Returns whether the client has given the correct password, or is known by its certificate. */
bool request_is_authenticated(const struct request *request);
/* Returns the value of the first header with this name, or NULL if the request has no such header. */
const char *request_header(const struct request *request, const char *name);
/*
 * Determines the client's preference for each offer. Without an Accept header, all offers are equally preferred.
 * Returns whether the client wants gzip.
 */
bool request_negotiate(struct request *request, struct offer *offers, size_t n);

#endif
