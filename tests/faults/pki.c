/* SPDX-License-Identifier: Apache-2.0 */
/* Certificates of the server: see pki.h. */
#undef NDEBUG
#include "tests/faults/pki.h"

#include <assert.h>
#include <gnutls/x509.h>
#include <stdio.h>
#include <time.h>

#define DAY 86400

static void write_pem(const char *directory, const char *name, gnutls_datum_t *pem)
{
    char path[128];

    snprintf(path, sizeof(path), "%s/%s", directory, name);
    FILE *file = fopen(path, "we");
    assert(file && fwrite(pem->data, 1, pem->size, file) == pem->size && fclose(file) == 0);
    gnutls_free(pem->data);
}

void pki_write(const char *directory, unsigned char serial)
{
    gnutls_x509_privkey_t key;
    gnutls_x509_crt_t crt;
    gnutls_datum_t pem;
    time_t now = time(NULL);

    assert(gnutls_x509_privkey_init(&key) == 0 && gnutls_x509_crt_init(&crt) == 0);
    assert(gnutls_x509_privkey_generate(key, GNUTLS_PK_ECDSA, GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1), 0) ==
           0);
    gnutls_x509_crt_set_version(crt, 3);
    gnutls_x509_crt_set_serial(crt, &serial, sizeof(serial));
    gnutls_x509_crt_set_activation_time(crt, now - DAY);
    gnutls_x509_crt_set_expiration_time(crt, now + 365 * DAY);
    gnutls_x509_crt_set_dn_by_oid(crt, GNUTLS_OID_X520_COMMON_NAME, 0, "a", 1);
    assert(gnutls_x509_crt_set_key(crt, key) == 0);
    assert(gnutls_x509_crt_sign2(crt, crt, key, GNUTLS_DIG_SHA256, 0) == 0);
    assert(gnutls_x509_crt_export2(crt, GNUTLS_X509_FMT_PEM, &pem) == 0);
    write_pem(directory, "cert.pem", &pem);
    assert(gnutls_x509_privkey_export2(key, GNUTLS_X509_FMT_PEM, &pem) == 0);
    write_pem(directory, "key.pem", &pem);
    gnutls_x509_crt_deinit(crt);
    gnutls_x509_privkey_deinit(key);
}
