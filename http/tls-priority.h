/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Translates the TLS versions, cipher suites and curves in the web configuration, which uses Go's names, into GnuTLS
 * priorities. Pure.
 *
 * GnuTLS priorities enable key exchanges, ciphers and MACs, and thereby every suite that combines them, including TLS
 * 1.3 suites. In Go, the list of cipher suites applies to versions up to TLS 1.2 and does not affect TLS 1.3. Two
 * priorities are therefore needed: a handshake begins with `first`, and switches to `older` if a version before 1.3 is
 * negotiated.
 */
#ifndef HTTP_TLS_PRIORITY_H
#define HTTP_TLS_PRIORITY_H

#include <gnutls/gnutls.h>

#include "base/error.h"
#include "config/web-config.h"

struct tls_priorities {
    gnutls_priority_t first;
    gnutls_priority_t older; /* NULL if `first` is used for all versions */
};

/* Returns -EINVAL, with a message, for anything that GnuTLS does not support or cannot express exactly. */
int tls_priorities_init(struct tls_priorities *priorities, const struct web_tls *config, struct error *error);
void tls_priorities_done(struct tls_priorities *priorities);

#endif
