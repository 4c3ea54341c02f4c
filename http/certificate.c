/* SPDX-License-Identifier: Apache-2.0 */
/* Certificates and keys in PEM form: see certificate.h. */
#include "http/certificate.h"

#include <arpa/inet.h>
#include <gnutls/x509.h>
#include <netinet/in.h>
#include <stdio.h>
#include <time.h>

#include "base/cleanup.h"

/* A bundle of all public CAs is below half of it. */
#define PEM_MAX (1 << 20)
#define SAN_MAX 1024

struct chain {
    gnutls_x509_crt_t *items;
    unsigned n;
};

static void chain_done(struct chain *chain)
{
    for (unsigned i = 0; i < chain->n; i++)
        gnutls_x509_crt_deinit(chain->items[i]);
    gnutls_free(chain->items);
}

static void key_done(gnutls_x509_privkey_t *key)
{
    if (*key)
        gnutls_x509_privkey_deinit(*key);
}

static void crt_done(gnutls_x509_crt_t *crt)
{
    if (*crt)
        gnutls_x509_crt_deinit(*crt);
}

/* Private keys do not stay in memory that is used again. */
static void wipe_and_free(char **text)
{
    if (*text)
        explicit_bzero(*text, strlen(*text));
    free(*text);
}

/* "the key_file \"/etc/x.pem\"", or "the key" of the text itself. */
static const char *pem_name(const struct pem *pem, char *text, size_t size)
{
    if (pem->file)
        snprintf(text, size, "%s_file \"%.200s\"", pem->what, pem->file);
    else
        snprintf(text, size, "%s", pem->what);
    return text;
}
#define NAME_SIZE 256
#define NAME_OF(pem) pem_name(pem, (char[NAME_SIZE]){0}, NAME_SIZE)

static int pem_read(const struct pem *pem, char **ret, struct error *error)
{
    char remedy[256];
    int r = 0;

    if (!pem->file && !pem->text)
        return error_set(error, -EINVAL, "there is no %s_file: a TLS server needs a certificate and its key",
                         pem->what);
    if (pem->file)
        r = file_read_by(pem->opener, pem->file, PEM_MAX, ret, NULL);
    else if (!(*ret = strdup(pem->text)))
        return error_oom(error);
    if (r == -EACCES)
        return error_set(error, r, "%s cannot be read: permission denied (EACCES) for user %u, group %u%s",
                         NAME_OF(pem), geteuid(), getegid(), file_remedy(pem->opener, r, remedy, sizeof(remedy)));
    if (r < 0)
        return error_set(error, r, "%s cannot be read: %s (%s)", NAME_OF(pem), strerror(-r), error_name(r));
    return 0;
}

static int chain_read(const struct pem *pem, struct chain *chain, struct error *error)
{
    _cleanup_(wipe_and_free) char *text = NULL;
    int r = pem_read(pem, &text, error);

    if (r < 0)
        return r;
    if (!strstr(text, "-----BEGIN "))
        return error_set(error, -EINVAL, "%s is not PEM (\"-----BEGIN CERTIFICATE-----\")", NAME_OF(pem));
    gnutls_datum_t data = {(unsigned char *)text, (unsigned)strlen(text)};
    r = gnutls_x509_crt_list_import2(&chain->items, &chain->n, &data, GNUTLS_X509_FMT_PEM, 0);
    if (r == GNUTLS_E_NO_CERTIFICATE_FOUND || (r >= 0 && chain->n == 0))
        return error_set(error, -EINVAL, "%s has no certificate in it", NAME_OF(pem));
    if (r == GNUTLS_E_MEMORY_ERROR)
        return error_oom(error);
    if (r < 0)
        return error_set(error, -EINVAL, "%s has a damaged certificate: %s", NAME_OF(pem), gnutls_strerror(r));
    return 0;
}

static int key_read(const struct pem *pem, gnutls_x509_privkey_t *key, struct error *error)
{
    _cleanup_(wipe_and_free) char *text = NULL;
    int r = pem_read(pem, &text, error);

    if (r < 0)
        return r;
    if (!strstr(text, "PRIVATE KEY-----"))
        return error_set(error, -EINVAL, "%s has no private key in PEM form (\"-----BEGIN PRIVATE KEY-----\")",
                         NAME_OF(pem));
    if (strstr(text, "ENCRYPTED"))
        return error_set(error, -EINVAL,
                         "%s is encrypted, and a daemon cannot ask for its password: write it without one, by "
                         "\"openssl pkey -in OLD -out NEW\"",
                         NAME_OF(pem));
    if (gnutls_x509_privkey_init(key) < 0)
        return error_oom(error);
    gnutls_datum_t data = {(unsigned char *)text, (unsigned)strlen(text)};
    r = gnutls_x509_privkey_import2(*key, &data, GNUTLS_X509_FMT_PEM, NULL, 0);
    if (r == GNUTLS_E_MEMORY_ERROR)
        return error_oom(error);
    if (r < 0)
        return error_set(error, -EINVAL, "%s has a damaged private key: %s", NAME_OF(pem), gnutls_strerror(r));
    return 0;
}

/* No error, as in Go: a client that does not mind can still scrape. */
static int warn_of_dates(const struct pem *pem, gnutls_x509_crt_t certificate, char **ret)
{
    time_t now = time(NULL), begin = gnutls_x509_crt_get_activation_time(certificate),
           end = gnutls_x509_crt_get_expiration_time(certificate);
    char date[32];
    struct tm tm;

    if (now >= begin && now <= end)
        return 0;
    time_t limit = now < begin ? begin : end;
    if (!gmtime_r(&limit, &tm) || !strftime(date, sizeof(date), "%Y-%m-%d %H:%M:%S UTC", &tm))
        snprintf(date, sizeof(date), "an unknown date");
    return asprintf(ret, "certificate %s%s %s: clients will refuse it",
                    pem->file ? pem->file : "in the web configuration",
                    now < begin ? " is not valid before" : " expired on", date) < 0
               ? -ENOMEM
               : 0;
}

int tls_certificate_load(gnutls_certificate_credentials_t credentials, const struct pem *certificate,
                         const struct pem *key, char **ret_warning, struct error *error)
{
    _cleanup_(chain_done) struct chain chain = {0};
    _cleanup_(key_done) gnutls_x509_privkey_t private = NULL;
    _cleanup_(freep) char *warning = NULL;

    int r = chain_read(certificate, &chain, error);
    if (r == 0)
        r = key_read(key, &private, error);
    if (r < 0)
        return r;
    r = gnutls_certificate_set_x509_key(credentials, chain.items, (int)chain.n, private);
    if (r == GNUTLS_E_CERTIFICATE_KEY_MISMATCH)
        return error_set(error, -EINVAL, "%s is not the key of %s", NAME_OF(key), NAME_OF(certificate));
    if (r == GNUTLS_E_MEMORY_ERROR)
        return error_oom(error);
    if (r < 0)
        return error_set(error, -EINVAL, "%s and %s cannot be used: %s", NAME_OF(certificate), NAME_OF(key),
                         gnutls_strerror(r));
    if (warn_of_dates(certificate, chain.items[0], &warning) < 0)
        return error_oom(error);
    *ret_warning = steal(warning);
    return 0;
}

int tls_certificate_trust(gnutls_certificate_credentials_t credentials, const struct pem *cas, struct error *error)
{
    _cleanup_(chain_done) struct chain chain = {0};

    int r = chain_read(cas, &chain, error);
    if (r < 0)
        return r;
    r = gnutls_certificate_set_x509_trust(credentials, chain.items, (int)chain.n);
    if (r == GNUTLS_E_MEMORY_ERROR)
        return error_oom(error);
    if (r <= 0)
        return error_set(error, -EINVAL, "%s has no CA that GnuTLS takes: %s", NAME_OF(cas), gnutls_strerror(r));
    return 0;
}

/* In the usual form, which Go writes too. */
static bool same_ip(const char *bytes, size_t size, const char *san)
{
    char text[INET6_ADDRSTRLEN];
    int family = size == sizeof(struct in_addr) ? AF_INET : AF_INET6;

    if (size != sizeof(struct in_addr) && size != sizeof(struct in6_addr))
        return false;
    return inet_ntop(family, bytes, text, sizeof(text)) && str_equal(text, san);
}

bool tls_certificate_has_san(const gnutls_datum_t *certificate, const char *san)
{
    _cleanup_(crt_done) gnutls_x509_crt_t crt = NULL;
    char value[SAN_MAX];

    if (gnutls_x509_crt_init(&crt) < 0 || gnutls_x509_crt_import(crt, certificate, GNUTLS_X509_FMT_DER) < 0)
        return false;
    for (unsigned i = 0;; i++) {
        size_t size = sizeof(value);
        int type = gnutls_x509_crt_get_subject_alt_name(crt, i, value, &size, NULL);
        if (type == GNUTLS_E_REQUESTED_DATA_NOT_AVAILABLE)
            return false;
        if (type == GNUTLS_SAN_IPADDRESS && same_ip(value, size, san))
            return true;
        bool text = type == GNUTLS_SAN_DNSNAME || type == GNUTLS_SAN_RFC822NAME || type == GNUTLS_SAN_URI;
        if (text && size == strlen(san) && memcmp(value, san, size) == 0)
            return true;
        if (type < 0 && type != GNUTLS_E_SHORT_MEMORY_BUFFER)
            return false;
    }
}
