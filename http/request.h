/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The headers Accept and Accept-Encoding with their q-values (RFC 9110, sections 12.4 and 12.5). Pure.
 *
 * A header may come on several lines; each is considered in turn.
 *
 * One request of a client, and the reply that is being made for it.
 *
 * A handler leaves its reply in the request. It is queued when libmicrohttpd calls next: at once or, for a request that
 * was suspended, in the call that follows the resumption.
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

/* One media type that we could send, and how welcome it is. */
struct offer {
    const char *type, *subtype;
    const char *version;  /* the parameter "version", or NULL. Other parameters do not matter. */
    unsigned quality;     /* 0 to QUALITY_MAX */
    unsigned specificity; /* of the media range that matched; 0: no range did */
};

/* Weighs one line of Accept; the most specific media range of all lines counts. */
void offer_consider(struct offer *offer, const char *accept);

/* Whether to compress. */
struct codings {
    int gzip, identity, any; /* 0 to QUALITY_MAX; -1 where not named */
};
#define CODINGS_NONE ((struct codings){-1, -1, -1})

void codings_consider(struct codings *codings, const char *accept_encoding);
bool codings_want_gzip(const struct codings *codings);

/* The wait of a suspended request, registered by the code that will resume it. */
struct suspension {
    bool active; /* libmicrohttpd does not look at the connection */
    /* The request ends: frees what would resume it. NULL: there is nothing to free. */
    void (*cancel)(struct request *request);
    /* Resumes it now. NULL where it waits for more than the time. */
    void (*cut_short)(struct request *request);
    void *userdata;            /* theirs */
    LIST_ENTRY(request) entry; /* of a list of requests that wait for the same */
};

LIST_HEAD(waiting_requests, request);

struct request {
    struct site *site;
    struct MHD_Connection *mhd;
    const char *method, *path;
    const struct peer *peer;
    enum standing standing; /* of its client, where its route is not for all clients */
    bool certified;         /* the client is known by its certificate: tls_peer_is_known() */
    bool seen;              /* libmicrohttpd has announced it */
    bool counted;           /* against the rate limit */
    bool answered;          /* its handler has run, or it was refused */
    bool bad_encoding;      /* of the URL */
    bool query_too_long;    /* libmicrohttpd was not shown it */
    enum verdict verdict;   /* on its password */
    unsigned delays;        /* how often its refusal was held back */
    struct suspension suspension;
    unsigned status;
    struct MHD_Response *response; /* NULL until there is one */
    bool borrowed;                 /* the response belongs to site->cache */
    void (*wake)(void *userdata);  /* has libmicrohttpd run soon */
    void *wake_userdata;
};

/* Whether each % of a URL is followed by two hexadecimal digits, and none makes a NUL (RFC 3986, section 2.1). Pure. */
bool request_uri_is_valid(const char *uri);
/* Starts again on the connection; `uri` is as the client sent it. */
void request_begin(struct request *request, struct site *site, struct MHD_Connection *mhd, const struct peer *peer,
                   const char *uri);
/* Frees what is left, also of a client that went away. */
void request_end(struct request *request);

/* `cancel` is called when the request ends, from now on; NULL: nothing is. */
void request_on_end(struct request *request, void (*cancel)(struct request *request), void *userdata);
/* The same, and suspends the connection if it is not suspended yet. */
void request_suspend(struct request *request, void (*cancel)(struct request *request), void *userdata);
/* The same, in a list of requests that wait for the same; it leaves the list when it ends. */
void request_suspend_in(struct request *request, struct waiting_requests *list);
/* Takes the first out of such a list, to be resumed; NULL: there is none. */
struct request *waiting_requests_take(struct waiting_requests *list);
/* Goes on with a suspended connection, which waits for nothing now: queues the reply from the event loop. */
void request_resume(struct request *request);
/* Hands the reply to libmicrohttpd; MHD_NO (close the connection) where there is no reply. */
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
const char *request_header(const struct request *request, const char *name);
/* Weighs the offers; without an Accept all are welcome. Returns whether the client wants gzip. */
bool request_negotiate(struct request *request, struct offer *offers, size_t n);
/* Whether its path is below /api/, where errors are JSON. */
bool request_is_api(const struct request *request);

#endif
