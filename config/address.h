/* SPDX-License-Identifier: Apache-2.0 */
/* A configured listen address: ":PORT", "IPv4:PORT", "[IPv6]:PORT" or "unix:/PATH". Host names are not resolved. */
#ifndef CONFIG_ADDRESS_H
#define CONFIG_ADDRESS_H

#include <sys/socket.h>

#include "base/error.h"

struct address {
    struct sockaddr_storage socket;
    socklen_t size;
    bool any; /* ":PORT" without a host: listen on all IPv4 and IPv6 addresses */
};

/*
 * Returns -EINVAL or -ENOMEM with a message. Accepts port 0, which stands for any free port. Looks up the interface of
 * a link-local address with if_nametoindex(3).
 */
int address_parse(const char *text, struct address *ret, struct error *error);
/*
 * Returns the URL that clients of a bound socket use: "http://127.0.0.1:10298/", or "unix:/path" for a unix socket. In
 * the URL, "localhost" replaces a wildcard address. The caller frees the URL. Returns NULL when out of memory.
 */
char *address_format(const struct sockaddr *socket, socklen_t size);

#endif
