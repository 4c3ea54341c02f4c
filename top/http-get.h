/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a running daemon answers: "unix:/PATH", or "http://HOST[:PORT][/PREFIX]".
 *
 * The answer to a request of HTTP/1.0 (RFC 1945), whose body ends where the connection does or as Content-Length says.
 * Pure: bytes that another process sent become a status and a body.
 *
 * One GET in the event loop, over a connection of its own.
 */
#ifndef TOP_HTTP_GET_H
#define TOP_HTTP_GET_H

#include <sys/socket.h>
#include <systemd/sd-event.h>

#include "base/error.h"

#define TOP_ENDPOINTS_MAX 8

struct top_address {
    char *path;        /* of a unix socket; NULL for others */
    char *host, *port; /* of http, the host without brackets */
    char *authority;   /* "HOST:PORT" as it was written: the header Host */
    char *prefix;      /* before the paths of the daemon, without a slash at its end: "" or "/board" */
    struct {
        struct sockaddr_storage address;
        socklen_t size;
        int family;
    } endpoints[TOP_ENDPOINTS_MAX];
    size_t n_endpoints;
};

/* -EINVAL, -EPROTONOSUPPORT (https, a password), with a sentence that has a remedy. Resolves no name. */
int top_address_parse(const char *url, struct top_address *ret, struct error *error);
void top_address_done(struct top_address *address);
/* Fills the endpoints; a name may take a while. -EHOSTUNREACH with a sentence. */
int top_address_resolve(struct top_address *address, struct error *error);

#define TOP_REPLY_HEAD_MAX (16 * 1024)
#define TOP_REPLY_MAX (32 * 1024 * 1024)

struct top_reply {
    unsigned status;
    const char *body; /* in the bytes that were parsed */
    size_t size;
};

/*
 * `ended`: the connection has ended, so that nothing follows. 0 and the reply when it is whole; -EAGAIN where more must
 * be read; -EBADMSG or -EMSGSIZE with a sentence.
 */
int top_reply_parse(const char *data, size_t size, bool ended, struct top_reply *ret, struct error *error);

struct top_request;

/* Called once, at the end; the request may be freed there. `reply` is NULL where there is none: see `error`. */
typedef void top_request_end(void *userdata, const struct top_reply *reply, const struct error *error);

/*
 * `address` is resolved and outlives the request; `path` is behind its prefix. Fails after `timeout_ns` without an
 * answer. -errno.
 */
int top_request_start(sd_event *event, const struct top_address *address, const char *path, uint64_t timeout_ns,
                      top_request_end *on_end, void *userdata, struct top_request **ret);
/* Also before its end. */
struct top_request *top_request_free(struct top_request *request);

#endif
