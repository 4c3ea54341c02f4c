/* SPDX-License-Identifier: Apache-2.0 */
/* What a client offers when it says hello: see hello.h. */
#include "http/tls/hello.h"

#define SUPPORTED_VERSIONS 43 /* RFC 8446, section 4.2.1 */
#define MAJOR 3               /* of all of TLS */

struct offers {
    enum tls_version min, max;
    bool listed; /* the versions are in the extension, and nothing else counts */
    bool fits;
};

/* TLS 1.0 is 3.1. */
static bool fits(const struct offers *offers, unsigned major, unsigned minor)
{
    return major == MAJOR && minor >= offers->min + 1U && minor <= offers->max + 1U;
}

static int on_extension(void *context, unsigned id, const unsigned char *data, unsigned size)
{
    struct offers *offers = context;

    if (id != SUPPORTED_VERSIONS)
        return 0;
    offers->listed = true;
    for (unsigned i = 1; i + 1 < size; i += 2)
        offers->fits |= fits(offers, data[i], data[i + 1]);
    return 0;
}

bool tls_hello_offers(const gnutls_datum_t *hello, enum tls_version min, enum tls_version max)
{
    struct offers offers = {.min = min, .max = max};

    if (hello->size < 2 || gnutls_ext_raw_parse(&offers, on_extension, hello, GNUTLS_EXT_RAW_FLAG_TLS_CLIENT_HELLO) < 0)
        return true; /* GnuTLS says what is wrong with it */
    /* An older client names its highest version, and takes those below. */
    return offers.listed ? offers.fits : hello->data[0] != MAJOR || hello->data[1] >= min + 1U;
}
