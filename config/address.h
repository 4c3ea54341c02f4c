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

/* -EINVAL with a sentence. ":0" (any free port) is accepted. */
int address_parse(const char *text, struct address *ret, struct error *error);
/* The URL of clients: "http://127.0.0.1:10298/", or "unix:/path" for a unix socket. The caller frees it. */
char *address_format(const struct sockaddr *socket, socklen_t size);

#endif
