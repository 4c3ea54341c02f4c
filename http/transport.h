/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bytes between a TLS session and its socket, so that it is known whether any were moved.
 *
 * In libmicrohttpd 0.9.75 a handshake that waits for the client looks as if it had something to do, and a server that
 * believes it spins until the client goes on. So a run in which no byte moves is not repeated at once.
 *
 * A client that speaks plain HTTP gets an error before its connection ends, in the words of Go's net/http.
 */
#ifndef HTTP_TRANSPORT_H
#define HTTP_TRANSPORT_H

#include <gnutls/gnutls.h>

#include "base/util.h"

struct tls_transport {
    int fd;
    bool begun;         /* the client has sent something */
    bool ended;         /* each further try is an error: half a message before the end is "try again" to GnuTLS */
    uint64_t *progress; /* grows with each call that was not in vain */
};

/* `transport` must be there until the session is gone. */
void tls_transport_use(struct tls_transport *transport, gnutls_session_t session);

#endif
