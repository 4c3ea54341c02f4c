/* SPDX-License-Identifier: Apache-2.0 */
#include "http/tls.h"

#include <arpa/inet.h>
#include <gnutls/x509.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <time.h>

#include "http/tls-priority.h"

/* A certificate or key in PEM format, in a file or in the web configuration itself. */
struct pem {
    const char *what;                 /* configuration key without "_file": "cert", "key" */
    const char *file;                 /* path of the PEM file, or NULL */
    const char *text;                 /* PEM text, if `file` is NULL */
    const struct file_opener *opener; /* opens `file`; NULL if this process opens the file itself */
};

/* --- certificates --- */

/* Maximum size of a PEM file, more than twice that of a bundle of all public CAs. */
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

/* Wipes the text before freeing it, because private keys must not stay in freed memory. */
static void wipe_and_free(char **text)
{
    if (*text)
        explicit_bzero(*text, strlen(*text));
    free(*text);
}

/*
 * Writes how messages refer to a PEM file or text: "key_file \"/etc/x.pem\"", or "key" if the configuration contains
 * the text itself.
 */
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
        return error_set(error, r, "cannot read %s: permission denied (EACCES) for user %u, group %u%s", NAME_OF(pem),
                         geteuid(), getegid(), file_remedy(pem->opener, r, remedy, sizeof(remedy)));
    if (r < 0)
        return error_set(error, r, "cannot read %s: %s (%s)", NAME_OF(pem), strerror(-r), error_name(r));
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
        return error_set(error, -EINVAL, "%s contains no certificate", NAME_OF(pem));
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
        return error_set(error, -EINVAL, "%s contains no private key in PEM form (\"-----BEGIN PRIVATE KEY-----\")",
                         NAME_OF(pem));
    if (strstr(text, "ENCRYPTED"))
        return error_set(error, -EINVAL,
                         "%s is encrypted, and a daemon cannot ask for its password: decrypt it with \"openssl pkey "
                         "-in OLD -out NEW\"",
                         NAME_OF(pem));
    if (gnutls_x509_privkey_init(key) < 0)
        return error_oom(error);
    gnutls_datum_t data = {(unsigned char *)text, (unsigned)strlen(text)};
    r = gnutls_x509_privkey_import2(*key, &data, GNUTLS_X509_FMT_PEM, NULL, 0);
    if (r == GNUTLS_E_MEMORY_ERROR)
        return error_oom(error);
    if (r < 0)
        return error_set(error, -EINVAL, "%s contains a damaged private key: %s", NAME_OF(pem), gnutls_strerror(r));
    return 0;
}

/*
 * As in Go, a certificate that has expired or is not valid yet is not an error, because clients that ignore the dates
 * can still scrape.
 */
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

/*
 * Loads a certificate with its chain and key into `credentials`. If the certificate has expired or is not valid yet,
 * *ret_warning is set to a sentence that the caller frees, and otherwise to NULL. Returns -EINVAL, -EACCES, -ENOENT...
 */
static int tls_certificate_load(gnutls_certificate_credentials_t credentials, const struct pem *certificate,
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

/* Adds the file's CAs to those that are trusted for client certificates. */
static int tls_certificate_trust(gnutls_certificate_credentials_t credentials, const struct pem *cas,
                                 struct error *error)
{
    _cleanup_(chain_done) struct chain chain = {0};

    int r = chain_read(cas, &chain, error);
    if (r < 0)
        return r;
    r = gnutls_certificate_set_x509_trust(credentials, chain.items, (int)chain.n);
    if (r == GNUTLS_E_MEMORY_ERROR)
        return error_oom(error);
    if (r <= 0)
        return error_set(error, -EINVAL, "%s contains no CA that GnuTLS accepts: %s", NAME_OF(cas), gnutls_strerror(r));
    return 0;
}

/* Compares the canonical forms of IP addresses, as Go does. */
static bool same_ip(const char *bytes, size_t size, const char *san)
{
    char text[INET6_ADDRSTRLEN];
    int family = size == sizeof(struct in_addr) ? AF_INET : AF_INET6;

    if (size != sizeof(struct in_addr) && size != sizeof(struct in6_addr))
        return false;
    return inet_ntop(family, bytes, text, sizeof(text)) && str_equal(text, san);
}

/* Returns whether a DER certificate has exactly this DNS name, IP address, e-mail address or URI. */
static bool tls_certificate_has_san(const gnutls_datum_t *certificate, const char *san)
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

/* --- transport --- */

/*
 * How much is read from a client that speaks plain HTTP. If a socket is closed while it has unread data, the kernel
 * resets the connection, and the reply may be lost.
 */
#define DRAIN_MAX (16 * 1024)

static ssize_t transport_note(struct tls_transport *transport, ssize_t n)
{
    if (n >= 0 || (errno != EAGAIN && errno != EINTR))
        ++*transport->progress;
    return n;
}

static ssize_t transport_ended(void)
{
    errno = ECONNRESET;
    return -1;
}

/*
 * Returns whether a client speaks plain HTTP. A plain request begins with a method, while the first byte of a TLS
 * record is its type, which is never a letter (RFC 8446, section 5.1).
 */
static bool is_http(const unsigned char *data)
{
    return *data >= 'A' && *data <= 'Z';
}

static ssize_t transport_refuse_http(struct tls_transport *transport)
{
    static const char answer[] = "HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n";
    char rest[DRAIN_MAX];

    (void)!send(transport->fd, answer, sizeof(answer) - 1, MSG_NOSIGNAL | MSG_DONTWAIT);
    (void)!recv(transport->fd, rest, sizeof(rest), MSG_DONTWAIT);
    shutdown(transport->fd, SHUT_WR);
    transport->ended = true;
    return transport_ended();
}

static ssize_t transport_receive(struct tls_transport *transport, void *data, size_t size)
{
    ssize_t n = recv(transport->fd, data, size, 0);
    bool first = n > 0 && !transport->begun;

    transport->begun |= first;
    return first && is_http(data) ? transport_refuse_http(transport) : n;
}

static ssize_t transport_pull(gnutls_transport_ptr_t userdata, void *data, size_t size)
{
    struct tls_transport *transport = userdata;

    return transport_note(transport, transport->ended ? transport_ended() : transport_receive(transport, data, size));
}

static ssize_t transport_push(gnutls_transport_ptr_t userdata, const giovec_t *parts, int n)
{
    struct tls_transport *transport = userdata;
    struct msghdr message = {.msg_iov = (struct iovec *)parts, .msg_iovlen = (size_t)n};

    return transport_note(transport,
                          transport->ended ? transport_ended() : sendmsg(transport->fd, &message, MSG_NOSIGNAL));
}

static int transport_wait_readable(gnutls_transport_ptr_t userdata, unsigned ms)
{
    struct tls_transport *transport = userdata;
    struct pollfd poll_fd = {.fd = transport->fd, .events = POLLIN};

    return poll(&poll_fd, 1, (int)ms);
}

void tls_transport_use(struct tls_transport *transport, gnutls_session_t session)
{
    gnutls_transport_set_ptr(session, transport);
    gnutls_transport_set_pull_function(session, transport_pull);
    gnutls_transport_set_pull_timeout_function(session, transport_wait_readable);
    gnutls_transport_set_vec_push_function(session, transport_push);
}

/* --- settings --- */

/*
 * If a handshake fails, libmicrohttpd 0.9.75 closes the connection without an alert. This module therefore sends the
 * alerts that tell the client why.
 */

struct tls {
    unsigned references;
    gnutls_certificate_credentials_t credentials;
    struct tls_priorities priorities;
    enum tls_version min_version, max_version;
    enum client_auth client_auth;
    bool named_cas; /* the handshake tells the client the names of the accepted CAs */
    char **sans;
    size_t n_sans;
    char *warning;
};

static bool tls_verifies_client(const struct tls *tls)
{
    return tls->client_auth == CLIENT_AUTH_VERIFY_IF_GIVEN || tls->client_auth == CLIENT_AUTH_REQUIRE_AND_VERIFY;
}

/* If no client CA is configured, the machine's CAs are trusted, as in Go and exporter-toolkit. */
static int tls_trust_clients(struct tls *tls, const struct web_tls *config, const struct file_opener *opener,
                             struct error *error)
{
    struct pem pem = {.what = "client_ca", .file = config->client_ca_file, .text = config->client_ca, .opener = opener};

    if (pem.file || pem.text) {
        tls->named_cas = true;
        return tls_certificate_trust(tls->credentials, &pem, error);
    }
    if (!tls_verifies_client(tls))
        return 0;
    if (gnutls_certificate_set_x509_system_trust(tls->credentials) <= 0)
        return error_set(error, -EINVAL,
                         "client certificates must be verified, but client_ca_file is not set, and this machine has no "
                         "CA certificates");
    return 0;
}

static int copy_sans(struct tls *tls, const struct text_list *sans)
{
    tls->sans = calloc(sans->n + 1, sizeof(*tls->sans));
    if (!tls->sans)
        return -ENOMEM;
    for (; tls->n_sans < sans->n; tls->n_sans++) {
        tls->sans[tls->n_sans] = strdup(sans->items[tls->n_sans]);
        if (!tls->sans[tls->n_sans])
            return -ENOMEM;
    }
    return 0;
}

static int tls_fill(struct tls *tls, const struct web_tls *config, const struct file_opener *opener,
                    struct error *error)
{
    struct pem certificate = {.what = "cert", .file = config->cert_file, .text = config->cert, .opener = opener};
    struct pem key = {.what = "key", .file = config->key_file, .text = config->key, .opener = opener};

    tls->client_auth = config->client_auth;
    tls->min_version = config->min_version;
    tls->max_version = config->max_version;
    if (gnutls_certificate_allocate_credentials(&tls->credentials) < 0 || copy_sans(tls, &config->client_allowed_sans))
        return error_oom(error);
    int r = tls_certificate_load(tls->credentials, &certificate, &key, &tls->warning, error);
    if (r == 0)
        r = tls_trust_clients(tls, config, opener, error);
    if (r == 0)
        r = tls_priorities_init(&tls->priorities, config, error);
    return r;
}

int tls_new(const struct web_tls *config, const struct file_opener *opener, struct tls **ret, struct error *error)
{
    _cleanup_(tls_unrefp) struct tls *tls = calloc(1, sizeof(*tls));

    if (!tls)
        return error_oom(error);
    tls->references = 1;
    int r = tls_fill(tls, config, opener, error);
    if (r < 0)
        return r;
    *ret = steal(tls);
    return 0;
}

struct tls *tls_ref(struct tls *tls)
{
    if (tls)
        tls->references++;
    return tls;
}

struct tls *tls_unref(struct tls *tls)
{
    if (!tls || --tls->references > 0)
        return NULL;
    tls_priorities_done(&tls->priorities);
    if (tls->credentials)
        gnutls_certificate_free_credentials(tls->credentials);
    for (size_t i = 0; i < tls->n_sans; i++)
        free(tls->sans[i]);
    free(tls->sans);
    free(tls->warning);
    free(tls);
    return NULL;
}

bool tls_asks(const struct tls *tls)
{
    return tls->client_auth != CLIENT_AUTH_NONE;
}

bool tls_requires_certificate(const struct tls *tls)
{
    return tls->client_auth == CLIENT_AUTH_REQUIRE_ANY || tls->client_auth == CLIENT_AUTH_REQUIRE_AND_VERIFY;
}

const char *tls_warning(const struct tls *tls)
{
    return tls->warning;
}

/*
 * Returns whether a verified certificate identifies the client. It does not if all certificates signed by the system's
 * CAs are accepted, because these CAs sign for everybody.
 */
static bool tls_knows_clients(const struct tls *tls)
{
    return tls->named_cas || tls->n_sans > 0;
}

const char *tls_clients_warning(const struct tls *tls)
{
    if (!tls_verifies_client(tls) || tls_knows_clients(tls))
        return NULL;
    return "tls_server_config.client_auth_type: without client_ca_file, a certificate of any CA that this machine "
           "trusts is accepted, and makes no client an operator; set client_ca_file to the CA of your clients";
}

static int tls_refuse(gnutls_session_t session, gnutls_alert_description_t alert)
{
    gnutls_alert_send(session, GNUTLS_AL_FATAL, alert);
    return GNUTLS_E_CERTIFICATE_ERROR;
}

/* Returns the alert that Go sends for this verification status. */
static gnutls_alert_description_t alert_of(unsigned status)
{
    if (status & (GNUTLS_CERT_EXPIRED | GNUTLS_CERT_NOT_ACTIVATED))
        return GNUTLS_A_CERTIFICATE_EXPIRED;
    if (status & (GNUTLS_CERT_SIGNER_NOT_FOUND | GNUTLS_CERT_SIGNER_NOT_CA))
        return GNUTLS_A_UNKNOWN_CA;
    return GNUTLS_A_BAD_CERTIFICATE;
}

static bool san_allowed(const struct tls *tls, const gnutls_datum_t *certificate)
{
    bool allowed = tls->n_sans == 0;

    for (size_t i = 0; i < tls->n_sans && !allowed; i++)
        allowed = tls_certificate_has_san(certificate, tls->sans[i]);
    return allowed;
}

/* Verifies the client's certificate. GnuTLS also calls this function if the client has sent no certificate. */
static int tls_verify_client(gnutls_session_t session)
{
    const struct tls *tls = gnutls_session_get_ptr(session);
    gnutls_typed_vdata_st purpose = {.type = GNUTLS_DT_KEY_PURPOSE_OID, .data = (void *)GNUTLS_KP_TLS_WWW_CLIENT};
    unsigned n = 0, status = 0;
    const gnutls_datum_t *certificates = gnutls_certificate_get_peers(session, &n);

    if (n == 0 && !tls_requires_certificate(tls))
        return 0;
    if (n == 0)
        return tls_refuse(session, gnutls_protocol_get_version(session) >= GNUTLS_TLS1_3 ? GNUTLS_A_CERTIFICATE_REQUIRED
                                                                                         : GNUTLS_A_BAD_CERTIFICATE);
    if (tls_verifies_client(tls) && gnutls_certificate_verify_peers(session, &purpose, 1, &status) < 0)
        return tls_refuse(session, GNUTLS_A_BAD_CERTIFICATE);
    if (status)
        return tls_refuse(session, alert_of(status));
    return san_allowed(tls, &certificates[0]) ? 0 : tls_refuse(session, GNUTLS_A_BAD_CERTIFICATE);
}

#define SUPPORTED_VERSIONS 43 /* number of the extension supported_versions (RFC 8446, section 4.2.1) */
#define MAJOR 3               /* the major version is the same in all versions of TLS */

struct hello_offers {
    enum tls_version min, max;
    bool listed; /* the extension lists the versions, which overrides the message's version field */
    bool fits;
};

/* Returns whether the server accepts the version. TLS 1.0 is encoded as version 3.1. */
static bool offers_fit(const struct hello_offers *offers, unsigned major, unsigned minor)
{
    return major == MAJOR && minor >= offers->min + 1U && minor <= offers->max + 1U;
}

static int hello_on_extension(void *context, unsigned id, const unsigned char *data, unsigned size)
{
    struct hello_offers *offers = context;

    if (id != SUPPORTED_VERSIONS)
        return 0;
    offers->listed = true;
    for (unsigned i = 1; i + 1 < size; i += 2)
        offers->fits |= offers_fit(offers, data[i], data[i + 1]);
    return 0;
}

/*
 * Returns whether a ClientHello offers one of the versions from `min` to `max` (RFC 8446, section 4.1.2). `hello` does
 * not include the handshake header. GnuTLS rejects unsupported versions before it makes any callback, and its alert
 * does not give the reason.
 */
static bool hello_offers(const gnutls_datum_t *hello, enum tls_version min, enum tls_version max)
{
    struct hello_offers offers = {.min = min, .max = max};

    if (hello->size < 2 ||
        gnutls_ext_raw_parse(&offers, hello_on_extension, hello, GNUTLS_EXT_RAW_FLAG_TLS_CLIENT_HELLO) < 0)
        return true; /* a malformed message is left to GnuTLS, which reports it */
    /* Older clients send their highest version, and are assumed to accept all lower versions. */
    return offers.listed ? offers.fits : hello->data[0] != MAJOR || hello->data[1] >= min + 1U;
}

/* Called before GnuTLS parses a ClientHello. */
static int tls_before_hello(gnutls_session_t session, unsigned type, unsigned when, unsigned incoming,
                            const gnutls_datum_t *message)
{
    const struct tls *tls = gnutls_session_get_ptr(session);

    (void)type, (void)when;
    if (!incoming || hello_offers(message, tls->min_version, tls->max_version))
        return 0;
    gnutls_alert_send(session, GNUTLS_AL_FATAL, GNUTLS_A_PROTOCOL_VERSION);
    return GNUTLS_E_UNSUPPORTED_VERSION_PACKET;
}

/* Called once GnuTLS has chosen the TLS version, but not yet the cipher suite. */
static int tls_on_hello(gnutls_session_t session)
{
    const struct tls *tls = gnutls_session_get_ptr(session);

    if (!tls->priorities.older || gnutls_protocol_get_version(session) >= GNUTLS_TLS1_3)
        return 0;
    return gnutls_priority_set(session, tls->priorities.older);
}

/*
 * The client is verified in every session, because sessions are never resumed: libmicrohttpd enables neither tickets
 * nor a session store.
 */
int tls_begin(struct tls *tls, gnutls_session_t session)
{
    const gnutls_datum_t protocol = {(unsigned char *)"http/1.1", 8};

    int r = gnutls_credentials_set(session, GNUTLS_CRD_CERTIFICATE, tls->credentials);
    if (r == GNUTLS_E_SUCCESS)
        r = gnutls_priority_set(session, tls->priorities.first);
    if (r == GNUTLS_E_SUCCESS)
        r = gnutls_alpn_set_protocols(session, &protocol, 1, 0);
    if (r != GNUTLS_E_SUCCESS)
        return r == GNUTLS_E_MEMORY_ERROR ? -ENOMEM : -EPROTO;
    gnutls_session_set_ptr(session, tls);
    gnutls_handshake_set_hook_function(session, GNUTLS_HANDSHAKE_CLIENT_HELLO, GNUTLS_HOOK_PRE, tls_before_hello);
    gnutls_handshake_set_post_client_hello_function(session, tls_on_hello);
    /*
     * The certificate is only requested here. If a certificate is required, tls_verify_client() refuses clients without
     * a certificate.
     */
    gnutls_certificate_server_set_request(session, tls->client_auth == CLIENT_AUTH_NONE ? GNUTLS_CERT_IGNORE
                                                                                        : GNUTLS_CERT_REQUEST);
    gnutls_certificate_send_x509_rdn_sequence(session, !tls->named_cas);
    gnutls_session_set_verify_function(session, tls_verify_client);
    return 0;
}

bool tls_peer_is_known(gnutls_session_t session)
{
    const struct tls *tls = gnutls_session_get_ptr(session);
    unsigned n = 0;

    return tls && tls_verifies_client(tls) && tls_knows_clients(tls) && gnutls_certificate_get_peers(session, &n) &&
           n > 0;
}
