/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small HTTP/1.0 client (RFC 1945) for the event loop: one GET to a running daemon, over a connection of its own. The
 * body ends at Content-Length or with the connection.
 *
 * A daemon's address is "unix:/PATH" or "http://HOST[:PORT][/PREFIX]".
 */
#ifndef TOP_HTTP_GET_H
#define TOP_HTTP_GET_H

#include <jansson.h>
#include <sys/socket.h>
#include <systemd/sd-event.h>

#include "base/buffer.h"
#include "base/error.h"

/* Where the daemon of this machine listens. */
#define TOP_DEFAULT_SOCKET "/run/perfcountd.sock"

#define TOP_ENDPOINTS_MAX 8

struct top_address {
    char *path;        /* of a Unix socket; otherwise NULL */
    char *host, *port; /* of http; the host without brackets */
    char *authority;   /* "HOST:PORT" as written, for the header Host */
    char *prefix;      /* goes before the daemon's paths, without a trailing slash: "" or "/board" */
    struct {
        struct sockaddr_storage address;
        socklen_t size;
        int family;
    } endpoints[TOP_ENDPOINTS_MAX];
    size_t n_endpoints;
};

/* Returns -EINVAL, or -EPROTONOSUPPORT for https or a password, with a remedy in the sentence. Resolves no names. */
int top_address_parse(const char *url, struct top_address *ret, struct error *error);
void top_address_done(struct top_address *address);
/* Fills in the endpoints; blocks while a host name is resolved. Returns -EHOSTUNREACH with a sentence. */
int top_address_resolve(struct top_address *address, struct error *error);

#define TOP_REPLY_HEAD_MAX (16 * 1024)
#define TOP_REPLY_MAX (32 * 1024 * 1024)

struct top_reply {
    unsigned status;
    const char *body; /* points into the parsed bytes */
    size_t size;
    double sampled_seconds; /* the header X-Sampled-Seconds, of samples that were already taken; 0: there is none */
};

/*
 * Parses what has been received so far. `ended` says that the connection has ended. Returns 0 with the complete reply,
 * -EAGAIN if more must be read, -EBADMSG or -EMSGSIZE with a sentence. Pure.
 */
int top_reply_parse(const char *data, size_t size, bool ended, struct top_reply *ret, struct error *error);

/*
 * Parses the JSON document of a reply from `address` with status 200. Returns -EBADMSG if there is none, -ENOENT for
 * status 404, -EACCES for 401, -EPROTO for others; with a sentence.
 */
int top_reply_document(const struct top_address *address, const struct top_reply *reply, json_t **ret,
                       struct error *error);

struct top_request;

/* Called once, at the end of the request, which may be freed in it. `reply` is NULL on failure; then see `error`. */
typedef void top_request_end(void *userdata, const struct top_reply *reply, const struct error *error);

/*
 * `address` must be resolved and outlive the request; `path` is appended to its prefix. The request fails if it is not
 * complete after `timeout_ns`. Returns -errno if it cannot start.
 */
int top_request_start(sd_event *event, const struct top_address *address, const char *path, uint64_t timeout_ns,
                      top_request_end *on_end, void *userdata, struct top_request **ret);
/* Fills in a sentence for an error of top_request_start(). Returns -ENOMEM, or -ENOTCONN for all others. */
int top_request_refused(const struct top_address *address, int code, struct error *error);
/* Cancels the request if it has not ended. `request` may be NULL. */
struct top_request *top_request_free(struct top_request *request);

/*
 * Gets a document and waits for it; its text is appended to `text`. Returns -ENOTCONN if no answer comes, or an error
 * of top_reply_document(), or -ENOMEM; with a sentence.
 */
int top_get(const struct top_address *address, const char *path, uint64_t timeout_ns, struct buffer *text, json_t **ret,
            struct error *error);

#endif
