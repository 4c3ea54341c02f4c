/* SPDX-License-Identifier: Apache-2.0 */
/* Who is at the other end, as limits and permissions see it. Pure. */
#ifndef HTTP_PEER_H
#define HTTP_PEER_H

#include <sys/socket.h>

#include "base/util.h"

struct peer {
    bool unix_socket;
    bool local;           /* on this machine */
    unsigned char key[8]; /* equal for addresses that count as one: an IPv4 address, an IPv6 /64 */
};

/* An address of a family that is not known here is a stranger's, and all such are one. */
struct peer peer_of(const struct sockaddr *address, socklen_t size);
/* Whether limits per address count them as one. */
bool peer_same(const struct peer *a, const struct peer *b);

#endif
