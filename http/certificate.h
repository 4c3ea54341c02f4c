/* SPDX-License-Identifier: Apache-2.0 */
/* Certificates and keys in PEM form, from a file or a text, with a sentence for all that can be wrong with them. */
#ifndef HTTP_CERTIFICATE_H
#define HTTP_CERTIFICATE_H

#include <gnutls/gnutls.h>

#include "base/error.h"
#include "base/file.h"

struct pem {
    const char *what; /* the key of the web configuration: "cert", for "cert_file" too */
    const char *file; /* or else */
    const char *text;
    const struct file_opener *opener; /* of the file; NULL: this process */
};

/*
 * Has `credentials` show this certificate (with its chain). `ret_warning` is NULL, or a sentence that the caller frees:
 * that it is not valid now. -EINVAL, -EACCES, -ENOENT...
 */
int tls_certificate_load(gnutls_certificate_credentials_t credentials, const struct pem *certificate,
                         const struct pem *key, char **ret_warning, struct error *error);
/* Has `credentials` trust these CAs of clients. */
int tls_certificate_trust(gnutls_certificate_credentials_t credentials, const struct pem *cas, struct error *error);
/* Whether a certificate (DER) has this DNS name, IP address, e-mail address or URI, character by character. */
bool tls_certificate_has_san(const gnutls_datum_t *certificate, const char *san);

#endif
