/* SPDX-License-Identifier: Apache-2.0 */
/* A name and a password from the network: see credential.h. */
#include "http/credential.h"

#include <gnutls/gnutls.h>
#include <strings.h>

static const char scheme[] = "Basic ";

/* GnuTLS overlooks line breaks and blanks. Here each text can be written in one way only. */
static bool is_base64(const char *text, size_t size)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    size_t n = strspn(text, digits), padding = strspn(text + n, "=");

    return size > 0 && size % 4 == 0 && n + padding == size && padding <= 2;
}

/* Splits at the first colon: a name has no colon. */
static int take_decoded(const gnutls_datum_t *decoded, struct credential *credential)
{
    if (decoded->size >= sizeof(credential->text) || memchr(decoded->data, '\0', decoded->size))
        return -EINVAL;
    memcpy(credential->text, decoded->data, decoded->size);
    credential->text[decoded->size] = '\0';
    char *colon = strchr(credential->text, ':');
    if (!colon)
        return -EINVAL;
    *colon = '\0';
    credential->user = credential->text;
    credential->password = colon + 1;
    if (strlen(credential->user) >= CREDENTIAL_MAX || strlen(credential->password) >= CREDENTIAL_MAX)
        return -EINVAL;
    return 0;
}

int credential_parse(const char *value, struct credential *ret)
{
    gnutls_datum_t decoded = {0};

    if (strncasecmp(value, scheme, strlen(scheme)) != 0)
        return -EINVAL;
    value += strlen(scheme);
    value += strspn(value, " ");
    gnutls_datum_t text = {.data = (unsigned char *)value, .size = (unsigned)strnlen(value, 4 * sizeof(ret->text))};
    int r = is_base64(value, text.size) ? gnutls_base64_decode2(&text, &decoded) : GNUTLS_E_BASE64_DECODING_ERROR;
    if (r < 0)
        return r == GNUTLS_E_MEMORY_ERROR ? -ENOMEM : -EINVAL;
    r = take_decoded(&decoded, ret);
    explicit_bzero(decoded.data, decoded.size);
    gnutls_free(decoded.data);
    if (r < 0)
        credential_done(ret);
    return r;
}

void credential_copy(const struct credential *from, struct credential *to)
{
    *to = *from;
    to->user = to->text + (from->user - from->text);
    to->password = to->text + (from->password - from->text);
}

void credential_done(struct credential *credential)
{
    explicit_bzero(credential, sizeof(*credential));
}
