/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A listen address of the configuration: ":PORT", "IPv4:PORT", "[IPv6]:PORT" or "unix:/PATH". Names are not resolved.
 */
#ifndef CONFIG_ADDRESS_H
#define CONFIG_ADDRESS_H

#include <sys/socket.h>

#include "base/error.h"

struct address {
    struct sockaddr_storage socket;
    socklen_t size;
    bool any; /* HOST is omitted: all IPv4 and IPv6 addresses of the machine */
};

/*
 * Returns -EINVAL or -ENOMEM with a message. Port 0, any free port, is accepted. Looks up the interface of a
 * link-local address by if_nametoindex(3).
 */
int address_parse(const char *text, struct address *ret, struct error *error);
/*
 * Returns the URL for clients of a bound socket: "http://127.0.0.1:10298/", or "unix:/path" for a unix socket. The
 * wildcard addresses become "localhost". The caller frees it; NULL when out of memory.
 */
char *address_format(const struct sockaddr *socket, socklen_t size);

#endif
