/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The TLS settings of a server, and the transport between a TLS session and its socket.
 *
 * The settings are the certificate, the key, the client CAs, the versions and the cipher suites. The settings in a
 * struct tls are immutable and reference-counted: a TLS session keeps the settings with which it began.
 *
 * The transport records whether any bytes were transferred. libmicrohttpd 0.9.75 reports work to do while a handshake
 * waits for the client, so a server that relies on this report spins until the client continues. The event loop
 * therefore does not immediately repeat a run in which no bytes were transferred. A client that speaks plain HTTP gets
 * a reply with an explanation, in the words of Go's net/http, before its connection ends.
 */
#ifndef HTTP_TLS_H
#define HTTP_TLS_H

#include <gnutls/gnutls.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/file.h"
#include "base/util.h"
#include "config/web-config.h"

struct tls_transport {
    int fd;
    bool begun;         /* the client has sent at least one byte */
    bool ended;         /* further I/O fails, because GnuTLS would report half a message before EOF as "try again" */
    uint64_t *progress; /* incremented by each call that transferred bytes or failed */
};

/* Makes the session use `transport`, which must outlive the session. */
void tls_transport_use(struct tls_transport *transport, gnutls_session_t session);

struct tls;

/* Reads the certificate files of the configuration. On failure the error names the file and the reason. */
int tls_new(const struct web_tls *config, const struct file_opener *opener, struct tls **ret, struct error *error);
/* A struct tls is freed when its last reference is released. tls_unref() accepts NULL, and returns NULL. */
struct tls *tls_ref(struct tls *tls);
struct tls *tls_unref(struct tls *tls);
DEFINE_CLEANUP(struct tls *, tls_unref);

/* Each returns a sentence about a problem that does not prevent serving, but that an operator should fix, or NULL. */
const char *tls_warning(const struct tls *tls);         /* the server's certificate has expired or is not valid yet */
const char *tls_clients_warning(const struct tls *tls); /* no client can be known by its certificate */

/*
 * Applies the settings to a server session before its handshake. The caller must keep its reference to `tls` until the
 * session has ended. Returns -ENOMEM, or -EPROTO if GnuTLS refuses the settings.
 */
int tls_begin(struct tls *tls, gnutls_session_t session);
/* Returns whether clients are asked for a certificate. */
bool tls_asks(const struct tls *tls);
/* Returns whether clients without a certificate are refused. */
bool tls_requires_certificate(const struct tls *tls);
/*
 * Returns, after the handshake, whether the client has presented a verified certificate that identifies the client: one
 * that is signed by the configured client CA or has an allowed name. A certificate signed by one of the system's CAs is
 * not
 * enough, because these CAs sign for everybody.
 */
bool tls_peer_is_known(gnutls_session_t session);

#endif
