/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses arbitrary bytes as the value of an Authorization header: encoding a valid credential again results in the same
 * text.
 */
#include <gnutls/gnutls.h>
#include <strings.h>

#include "base/buffer.h"
#include "http/password.h"
#include "tests/fuzz/fuzz.h"

static void check(const char *value, const struct credential *credential)
{
    _cleanup_(buffer_done) struct buffer joined = {0};
    gnutls_datum_t encoded = {0};

    buffer_appendf(&joined, "%s:%s", credential->user, credential->password);
    assert(!joined.failed && !strchr(credential->user, ':'));
    gnutls_datum_t raw = {(unsigned char *)joined.data, (unsigned)joined.size};
    assert(gnutls_base64_encode2(&raw, &encoded) == 0);
    assert(strncasecmp(value, "basic ", 6) == 0);
    value += 6;
    value += strspn(value, " ");
    /* The unused bits of the last group may have any value. */
    assert(strlen(value) == encoded.size);
    size_t same = strlen(value) - 4;
    assert(memcmp(value, encoded.data, same) == 0);
    gnutls_free(encoded.data);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    _cleanup_(freep) char *value = copy_text(data, size);
    struct credential credential;

    int r = credential_parse(value, &credential);
    assert(r == 0 || r == -EINVAL);
    if (r < 0)
        return 0;
    check(value, &credential);
    credential_done(&credential);
    return 0;
}
