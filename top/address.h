/* SPDX-License-Identifier: Apache-2.0 */
/* Where a running daemon answers: "unix:/PATH", or "http://HOST[:PORT][/PREFIX]". */
#ifndef TOP_ADDRESS_H
#define TOP_ADDRESS_H

#include <sys/socket.h>

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

#endif
