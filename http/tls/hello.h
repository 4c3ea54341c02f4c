/* SPDX-License-Identifier: Apache-2.0 */
/* What a client offers when it says hello: GnuTLS refuses versions before anything of ours is asked, and tells nobody.
 */
#ifndef HTTP_TLS_HELLO_H
#define HTTP_TLS_HELLO_H

#include <gnutls/gnutls.h>

#include "config/web-config.h"

/* Whether one of the versions is offered in a ClientHello (RFC 8446, section 4.1.2; without the handshake's header). */
bool tls_hello_offers(const gnutls_datum_t *hello, enum tls_version min, enum tls_version max);

#endif
