/* SPDX-License-Identifier: Apache-2.0 */
/* A listen address: "[HOST]:PORT" with a numeric HOST, or "unix:/PATH". Pure. */
#ifndef CONFIG_ADDRESS_H
#define CONFIG_ADDRESS_H

#include <sys/socket.h>

#include "base/error.h"

struct address {
    struct sockaddr_storage socket;
    socklen_t size;
    bool any; /* no HOST: all IPv6 and IPv4 addresses of the machine */
};

/* -EINVAL with a sentence that names what is wrong. ":0" (any free port) is accepted. */
int address_parse(const char *text, struct address *ret, struct error *error);
/* How a client writes it in a URL: "http://127.0.0.1:10298/"; the caller frees it. For unix sockets "unix:/path". */
char *address_format(const struct sockaddr *socket, socklen_t size);

#endif
