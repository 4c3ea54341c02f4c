/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small HTTP/1.0 client (RFC 1945) for the event loop, which sends each GET request to a running daemon over a
 * separate connection. Content-Length is the length of the body; without this header, the body ends when the server
 * closes the connection.
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

/* Path of the daemon's default socket. */
#define TOP_DEFAULT_SOCKET "/run/perfcountd.sock"

#define TOP_ENDPOINTS_MAX 8

struct top_address {
    char *path;        /* path of a unix socket, or NULL for http */
    char *host, *port; /* host, without brackets, and port; only for http */
    char *authority;   /* HOST:PORT as the user wrote it, for the header Host */
    char *prefix;      /* prefix of all request paths, such as "/board", without a trailing slash; may be "" */
    struct {
        struct sockaddr_storage address;
        socklen_t size;
        int family;
    } endpoints[TOP_ENDPOINTS_MAX];
    size_t n_endpoints;
};

/*
 * Parses an address, but resolves no host name. Returns -EINVAL, or -EPROTONOSUPPORT for https or a password, and sets
 * `error` to a message that says what to use instead.
 */
int top_address_parse(const char *url, struct top_address *ret, struct error *error);
void top_address_done(struct top_address *address);
/*
 * Fills in the endpoints of the address, and blocks while the host name is resolved. Returns -EHOSTUNREACH with a
 * message on failure.
 */
int top_address_resolve(struct top_address *address, struct error *error);

#define TOP_REPLY_HEAD_MAX (16 * 1024)
#define TOP_REPLY_MAX (32 * 1024 * 1024)

struct top_reply {
    unsigned status;
    const char *body; /* body of the reply; points into the parsed bytes */
    size_t size;
    double sampled_seconds; /* value of the header X-Sampled-Seconds (profiles of past samples), or 0 */
};

/*
 * Parses the part of the reply that has been received so far. `ended` is true if the server has closed the connection.
 * Returns 0 if the reply is complete, -EAGAIN if more must be read, or -EBADMSG or -EMSGSIZE with a message.
 */
int top_reply_parse(const char *data, size_t size, bool ended, struct top_reply *ret, struct error *error);

/*
 * Parses the JSON document of a reply from `address` with status 200. Returns these errors with a message: -EBADMSG if
 * the body is not JSON, -ENOENT for status 404, -EACCES for 401, -EPROTO for other statuses.
 */
int top_reply_document(const struct top_address *address, const struct top_reply *reply, json_t **ret,
                       struct error *error);

struct top_request;

/*
 * Called once, when the request ends; the callback may free the request. On failure `reply` is NULL, and `error`
 * contains the reason.
 */
typedef void top_request_end(void *userdata, const struct top_reply *reply, const struct error *error);

/*
 * Starts a GET request. `address` must be resolved and outlive the request. The requested path is the prefix of
 * `address` followed by `path`. The request fails if the reply is not complete within `timeout_ns`. Returns -errno if
 * the request cannot start.
 */
int top_request_start(sd_event *event, const struct top_address *address, const char *path, uint64_t timeout_ns,
                      top_request_end *on_end, void *userdata, struct top_request **ret);
/*
 * Sets the message for `code`, an error from top_request_start(). Returns -ENOMEM for -ENOMEM, and -ENOTCONN for all
 * other codes.
 */
int top_request_refused(const struct top_address *address, int code, struct error *error);
/* Frees the request, which may be NULL, and cancels it if it has not ended. */
struct top_request *top_request_free(struct top_request *request);

/*
 * Requests a document, waits for the reply, and appends its text to `text`. Returns these errors with a message:
 * -ENOTCONN without a reply, errors from top_reply_document(), -ENOMEM.
 */
int top_get(const struct top_address *address, const char *path, uint64_t timeout_ns, struct buffer *text, json_t **ret,
            struct error *error);

#endif
