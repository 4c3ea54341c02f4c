/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Certificates and keys in PEM form, from a file or a text, with a sentence for all that can be wrong with them.
 *
 * The bytes between a TLS session and its socket, so that it is known whether any were moved.
 *
 * In libmicrohttpd 0.9.75 a handshake that waits for the client looks as if it had something to do, and a server that
 * believes it spins until the client goes on. So a run in which no byte moves is not repeated at once.
 *
 * A client that speaks plain HTTP gets an error before its connection ends, in the words of Go's net/http.
 *
 * The settings of a TLS server: certificate, key, the CAs of clients, versions and cipher suites. Immutable and
 * counted: a session keeps the settings that it began with.
 */
#ifndef HTTP_TLS_H
#define HTTP_TLS_H

#include <gnutls/gnutls.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/file.h"
#include "base/util.h"
#include "config/web-config.h"

struct pem {
    const char *what; /* the key of the web configuration: "cert", for "cert_file" too */
    const char *file; /* or else */
    const char *text;
    const struct file_opener *opener; /* of the file; NULL: this process */
};

struct tls_transport {
    int fd;
    bool begun;         /* the client has sent something */
    bool ended;         /* each further try is an error: half a message before the end is "try again" to GnuTLS */
    uint64_t *progress; /* grows with each call that was not in vain */
};

/* `transport` must be there until the session is gone. */
void tls_transport_use(struct tls_transport *transport, gnutls_session_t session);

struct tls;

/* Reads the files. The error's sentence names the file that is wrong, and the reason. */
int tls_new(const struct web_tls *config, const struct file_opener *opener, struct tls **ret, struct error *error);
/* The last reference frees it. tls_unref() takes NULL, and returns it. */
struct tls *tls_ref(struct tls *tls);
struct tls *tls_unref(struct tls *tls);
DEFINE_CLEANUP(struct tls *, tls_unref);

/* Problems that an operator should fix although it serves, each a sentence. NULL: none. */
const char *tls_warning(const struct tls *tls);         /* the server's certificate has expired */
const char *tls_clients_warning(const struct tls *tls); /* no client is known by its certificate */

/*
 * Applies these settings to a session of the server before its handshake; `tls` must be held until the session is gone.
 * -ENOMEM; -EPROTO where GnuTLS refuses.
 */
int tls_begin(struct tls *tls, gnutls_session_t session);
/* Whether clients are asked for a certificate. */
bool tls_asks(const struct tls *tls);
/*
 * Whether the client, after the handshake, has shown a certificate that says who it is: verified, and of the configured
 * client CA or with an allowed name. The system's CAs alone sign for everybody.
 */
bool tls_peer_is_known(gnutls_session_t session);

#endif
