/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TLS: the settings of a server, and the transport between a session and its socket.
 *
 * The settings are the certificate, the key, the CAs of clients, versions and cipher suites. They are immutable and
 * reference-counted: a session keeps the settings with which it began.
 *
 * The transport records whether any bytes were moved. In libmicrohttpd 0.9.75, a handshake that waits for the client
 * looks as if there were work to do, so a server that relies on this spins until the client continues. The event loop
 * therefore does not immediately repeat a run in which no byte was moved. A client that speaks plain HTTP gets a reply
 * that says so, in the words of Go's net/http, before its connection ends.
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
    bool begun;         /* the client has sent something */
    bool ended;         /* all further I/O fails: GnuTLS reports half a message before EOF as "try again" */
    uint64_t *progress; /* incremented by each call that moved bytes or failed */
};

/* `transport` must outlive the session. */
void tls_transport_use(struct tls_transport *transport, gnutls_session_t session);

struct tls;

/* Reads the certificate files. On failure the error names the file and the reason. */
int tls_new(const struct web_tls *config, const struct file_opener *opener, struct tls **ret, struct error *error);
/* The object is freed with its last reference. tls_unref() accepts NULL, and returns NULL. */
struct tls *tls_ref(struct tls *tls);
struct tls *tls_unref(struct tls *tls);
DEFINE_CLEANUP(struct tls *, tls_unref);

/* Problems that do not prevent serving, but that an operator should fix: a sentence, or NULL. */
const char *tls_warning(const struct tls *tls);         /* the server's certificate is not valid now */
const char *tls_clients_warning(const struct tls *tls); /* no client can be known by its certificate */

/*
 * Applies the settings to a server session before its handshake. The caller keeps its reference to `tls` until the
 * session is gone. Returns -ENOMEM, or -EPROTO if GnuTLS refuses the settings.
 */
int tls_begin(struct tls *tls, gnutls_session_t session);
/* Whether clients are asked for a certificate. */
bool tls_asks(const struct tls *tls);
/*
 * Returns, after the handshake, whether the client has shown a verified certificate that identifies it, because it is
 * signed by the configured client CA or has an allowed name. A certificate signed by one of the system's CAs is not
 * enough: they sign for everybody.
 */
bool tls_peer_is_known(gnutls_session_t session);

#endif
