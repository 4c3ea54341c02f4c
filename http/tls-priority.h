/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Versions, cipher suites and curves of a TLS server: from Go's names, as the web configuration has them, to GnuTLS's
 * priorities. Pure.
 *
 * GnuTLS enables key exchanges, ciphers and MACs, and with them every suite that they make up, also those of TLS 1.3.
 * Go's cipher suites are those up to TLS 1.2 and leave TLS 1.3 alone. So there are two priorities: a handshake begins
 * with `first`, and one that turns out to be of an older version than 1.3 goes on with `older`.
 */
#ifndef HTTP_TLS_PRIORITY_H
#define HTTP_TLS_PRIORITY_H

#include <gnutls/gnutls.h>

#include "base/error.h"
#include "config/web-config.h"

struct tls_priorities {
    gnutls_priority_t first;
    gnutls_priority_t older; /* NULL: `first` serves for all */
};

/* -EINVAL with a sentence for what GnuTLS does not have or cannot do exactly. */
int tls_priorities_init(struct tls_priorities *priorities, const struct web_tls *config, struct error *error);
void tls_priorities_done(struct tls_priorities *priorities);

#endif
