/* SPDX-License-Identifier: Apache-2.0 */
/* Limits of connections: numbers, bytes, nanoseconds. */
#ifndef HTTP_LIMITS_H
#define HTTP_LIMITS_H

#include "base/util.h"

/* A deadline is for the whole of what it names: a client that sends a byte a second does not extend it. */
struct server_limits {
    unsigned connections, connections_per_address;
    size_t memory_per_connection; /* request line and headers must fit */
    uint64_t request_ns;          /* from accepting to the end of the first request's headers */
    uint64_t keepalive_ns;        /* from one response to the end of the next request's headers */
    uint64_t response_ns;         /* to take the response */
};

#endif
