/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TLS: which versions, suites and curves GnuTLS enables for Go's names, handshakes in memory, certificate and key
 * errors, and clients that do not speak TLS.
 */
#include <gnutls/x509.h>
#include <stdio.h>
#include <sys/socket.h>
#include <time.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "http/tls-priority.h"
#include "http/tls.h"
#include "tests/unit/test.h"

/* --- priorities */

#define NAMES_MAX 4

/* Splits `text` into words in place. */
static struct text_list split(char *text, char **words)
{
    size_t n = 0;

    for (char *word = strtok(text, " "); word; word = strtok(NULL, " "))
        words[n++] = word;
    return (struct text_list){words, n};
}

/* Returns the ids of the cipher suites, in the order of GnuTLS: "0xc02f 0xc030". */
static char *ids(gnutls_priority_t priority)
{
    _cleanup_(buffer_done) struct buffer text = {0};
    unsigned char id[2];
    unsigned suite;
    int r = 0;

    for (unsigned i = 0; priority && r != GNUTLS_E_REQUESTED_DATA_NOT_AVAILABLE; i++) {
        r = gnutls_priority_get_cipher_suite_index(priority, i, &suite);
        if (r == 0 && gnutls_cipher_suite_info(suite, id, NULL, NULL, NULL, NULL))
            buffer_appendf(&text, "%s%02x%02x", text.size ? " " : "", id[0], id[1]);
    }
    return buffer_string(&text);
}

static char *names(const unsigned *list, int n, const char *(*name)(unsigned))
{
    _cleanup_(buffer_done) struct buffer text = {0};

    for (int i = 0; i < n; i++)
        buffer_appendf(&text, "%s%s", i ? " " : "", name(list[i]));
    return buffer_string(&text);
}

static const char *group_name(unsigned group)
{
    return gnutls_group_get_name(group);
}

static const char *version_name(unsigned version)
{
    return gnutls_protocol_get_name(version);
}

#define USUAL_GROUPS "X25519 SECP256R1 SECP384R1 SECP521R1"
#define V1_0 TLS_VERSION_1_0
#define V1_2 TLS_VERSION_1_2
#define V1_3 TLS_VERSION_1_3
#define RSA_AES_128_GCM "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"
#define RSA_AES_256_GCM "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384"
#define RSA_CHACHA20 "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305"

/* Either an error, or versions, suites up to TLS 1.2 (those of 1.3 if there are no others), and groups. */
static const struct {
    const char *name;
    enum tls_version in_min, in_max;
    const char *in_suites, *in_curves;
    const char *out_versions, *out_suites, *out_groups, *out_error;
} priority_cases[] = {
    {"the defaults", V1_2, V1_3, "", "", "TLS1.3 TLS1.2", "c02b c02c cca9 c009 c00a c02f c030 cca8 c013 c014",
     USUAL_GROUPS, ""},
    {"one suite", V1_2, V1_3, RSA_AES_128_GCM, "", "TLS1.3 TLS1.2", "c02f", USUAL_GROUPS, ""},
    {"both names of the same suite", V1_2, V1_2, RSA_CHACHA20 " " RSA_CHACHA20 "_SHA256", "", "TLS1.2", "cca8",
     USUAL_GROUPS, ""},
    {"suites keep the requested order", V1_2, V1_3, RSA_AES_256_GCM " TLS_AES_128_GCM_SHA256 " RSA_AES_128_GCM, "",
     "TLS1.3 TLS1.2", "c030 c02f", USUAL_GROUPS, ""},
    {"every combination of key exchange and cipher", V1_0, V1_2,
     "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA TLS_RSA_WITH_AES_128_CBC_SHA TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA "
     "TLS_RSA_WITH_AES_256_CBC_SHA",
     "", "TLS1.2 TLS1.1 TLS1.0", "c013 c014 002f 0035", USUAL_GROUPS, ""},
    {"only TLS 1.3", V1_3, V1_3, "", "CurveP384", "TLS1.3", "1301 1302 1303", "SECP384R1", ""},
    {"only TLS 1.3, for which suites have no effect", V1_3, V1_3, "TLS_AES_128_GCM_SHA256", "CurveP521 X25519",
     "TLS1.3", "1301 1302 1303", "SECP521R1 X25519", ""},
    {"combining the key exchanges and ciphers would add a suite", V1_2, V1_3,
     RSA_AES_128_GCM " "
                     "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384",
     "", NULL, NULL, NULL, "it would add TLS_ECDHE_"},
    {"another MAC would add a suite", V1_2, V1_2,
     "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256 TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA", "", NULL, NULL, NULL,
     "it would add TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA;"},
    {"an unknown suite", V1_2, V1_3, "TLS_RSA_WITH_RC4_128_SHA", "", NULL, NULL, NULL,
     "does not support TLS_RSA_WITH_RC4"},
    {"only suites of TLS 1.3", V1_2, V1_3, "TLS_AES_128_GCM_SHA256", "", NULL, NULL, NULL, "only TLS 1.3 suites"},
    {"an unknown curve", V1_2, V1_3, "", "X25519MLKEM768", NULL, NULL, NULL, "does not support X25519MLKEM768"},
    {"min_version above max_version", V1_3, V1_2, "", "", NULL, NULL, NULL, "above max_version"},
};

TEST(test_priorities)
{
    for (size_t i = 0; i < ARRAY_SIZE(priority_cases); i++) {
        _cleanup_(freep) char *suite_names = strdup(priority_cases[i].in_suites);
        _cleanup_(freep) char *curve_names = strdup(priority_cases[i].in_curves);
        char *suites_of[NAMES_MAX], *curves_of[NAMES_MAX];
        struct web_tls config = {
            .min_version = priority_cases[i].in_min,
            .max_version = priority_cases[i].in_max,
            .cipher_suites = split(suite_names, suites_of),
            .curve_preferences = split(curve_names, curves_of),
        };
        _cleanup_(tls_priorities_done) struct tls_priorities made = {0};
        struct error error = {0};
        const unsigned *list;

        print_message("%s\n", priority_cases[i].name);
        int r = tls_priorities_init(&made, &config, &error);
        assert_non_null(strstr(error.message, priority_cases[i].out_error));
        assert_int_equal(r, priority_cases[i].out_suites ? 0 : -EINVAL);
        if (r < 0) {
            assert_null(made.first);
            continue;
        }
        gnutls_priority_t older = made.older ? made.older : made.first;
        int n = gnutls_priority_protocol_list(made.first, &list);
        _cleanup_(freep) char *versions = names(list, n, version_name), *suites = ids(older);
        assert_string_equal(versions, priority_cases[i].out_versions);
        assert_string_equal(suites, priority_cases[i].out_suites);
        for (int k = 0; k < 2; k++) {
            n = gnutls_priority_group_list(k ? older : made.first, &list);
            _cleanup_(freep) char *groups = names(list, n, group_name);
            assert_string_equal(groups, priority_cases[i].out_groups);
        }
    }
}

/* --- handshakes */

#define DAY 86400

struct identity {
    gnutls_x509_privkey_t key;
    gnutls_x509_crt_t crt;
    char *key_pem, *crt_pem;
};

enum { CA, ELSEWHERE, SERVER, CLIENT, STRANGER, EXPIRED, N_IDENTITIES };

static struct identity pki[N_IDENTITIES];

static char *pem_of(gnutls_datum_t *data)
{
    char *text = strndup((char *)data->data, data->size);

    gnutls_free(data->data);
    return text;
}

/* Makes a certificate signed by `issuer`, or a CA if that is NULL. */
static struct identity make_identity(const struct identity *issuer, const char *name, const char *use, int until)
{
    struct identity identity;
    gnutls_datum_t data;
    static unsigned char serial;
    time_t now = time(NULL);

    serial++;
    gnutls_x509_privkey_init(&identity.key);
    assert_int_equal(gnutls_x509_privkey_generate(identity.key, GNUTLS_PK_ECDSA,
                                                  GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1), 0),
                     0);
    gnutls_x509_crt_init(&identity.crt);
    gnutls_x509_crt_set_version(identity.crt, 3);
    gnutls_x509_crt_set_serial(identity.crt, &serial, 1);
    gnutls_x509_crt_set_activation_time(identity.crt, now - 10 * DAY);
    gnutls_x509_crt_set_expiration_time(identity.crt, now + until);
    gnutls_x509_crt_set_dn_by_oid(identity.crt, GNUTLS_OID_X520_COMMON_NAME, 0, name, (unsigned)strlen(name));
    gnutls_x509_crt_set_subject_alt_name(identity.crt, GNUTLS_SAN_DNSNAME, name, (unsigned)strlen(name), 0);
    gnutls_x509_crt_set_subject_alt_name(identity.crt, GNUTLS_SAN_IPADDRESS, "\xc0\0\2\7", 4, GNUTLS_FSAN_APPEND);
    gnutls_x509_crt_set_subject_alt_name(identity.crt, GNUTLS_SAN_URI, "spiffe://x/y", 12, GNUTLS_FSAN_APPEND);
    gnutls_x509_crt_set_key(identity.crt, identity.key);
    gnutls_x509_crt_set_ca_status(identity.crt, !issuer);
    if (use)
        gnutls_x509_crt_set_key_purpose_oid(identity.crt, use, 0);
    assert_int_equal(gnutls_x509_crt_sign2(identity.crt, issuer ? issuer->crt : identity.crt,
                                           issuer ? issuer->key : identity.key, GNUTLS_DIG_SHA256, 0),
                     0);
    gnutls_x509_crt_export2(identity.crt, GNUTLS_X509_FMT_PEM, &data);
    identity.crt_pem = pem_of(&data);
    gnutls_x509_privkey_export2(identity.key, GNUTLS_X509_FMT_PEM, &data);
    identity.key_pem = pem_of(&data);
    return identity;
}

static int make_pki(void **state)
{
    (void)state;
    pki[CA] = make_identity(NULL, "ca", NULL, DAY);
    pki[ELSEWHERE] = make_identity(NULL, "elsewhere", NULL, DAY);
    pki[SERVER] = make_identity(&pki[CA], "server", GNUTLS_KP_TLS_WWW_SERVER, DAY);
    pki[CLIENT] = make_identity(&pki[CA], "client", GNUTLS_KP_TLS_WWW_CLIENT, DAY);
    pki[STRANGER] = make_identity(&pki[ELSEWHERE], "client", GNUTLS_KP_TLS_WWW_CLIENT, DAY);
    pki[EXPIRED] = make_identity(&pki[CA], "client", GNUTLS_KP_TLS_WWW_CLIENT, -DAY);
    return 0;
}

static int free_pki(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_IDENTITIES; i++) {
        gnutls_x509_privkey_deinit(pki[i].key);
        gnutls_x509_crt_deinit(pki[i].crt);
        free(pki[i].key_pem);
        free(pki[i].crt_pem);
    }
    return 0;
}

static struct web_tls config_of(enum client_auth auth)
{
    return (struct web_tls){
        .enabled = true,
        .cert = pki[SERVER].crt_pem,
        .key = pki[SERVER].key_pem,
        .client_ca = auth ? pki[CA].crt_pem : NULL,
        .client_auth = auth,
        .min_version = TLS_VERSION_1_2,
        .max_version = TLS_VERSION_1_3,
    };
}

/* Replaces GnuTLS's function, so that the test's CA is the system's only CA. */
int gnutls_certificate_set_x509_system_trust(gnutls_certificate_credentials_t credentials)
{
    return gnutls_certificate_set_x509_trust(credentials, &pki[CA].crt, 1);
}

/* Returns the result: "ok", "known" for a client with a verified identity, or the alert received by the client. */
static const char *shake_hands(struct tls *tls, const struct identity *identity, const char *priorities)
{
    gnutls_certificate_credentials_t credentials;
    gnutls_session_t server, client;
    const char *result = NULL;
    int fds[2], s = GNUTLS_E_AGAIN, c = GNUTLS_E_AGAIN;
    char byte;

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds), 0);
    gnutls_certificate_allocate_credentials(&credentials);
    if (identity)
        assert_int_equal(
            gnutls_certificate_set_x509_key(credentials, (gnutls_x509_crt_t *)&identity->crt, 1, identity->key), 0);
    gnutls_init(&server, GNUTLS_SERVER | GNUTLS_NONBLOCK);
    /* The client sends its certificate, whatever CAs the server names. */
    gnutls_init(&client, GNUTLS_CLIENT | GNUTLS_NONBLOCK | GNUTLS_FORCE_CLIENT_CERT);
    gnutls_credentials_set(client, GNUTLS_CRD_CERTIFICATE, credentials);
    assert_int_equal(gnutls_priority_set_direct(client, priorities, NULL), 0);
    gnutls_transport_set_int(server, fds[0]);
    gnutls_transport_set_int(client, fds[1]);
    assert_int_equal(tls_begin(tls, server), 0);
    for (unsigned i = 0; i < 100 && !result; i++) {
        if (s == GNUTLS_E_AGAIN)
            s = gnutls_handshake(server);
        if (c == GNUTLS_E_AGAIN)
            c = gnutls_handshake(client);
        else if (c == 0 && gnutls_record_recv(client, &byte, 1) == GNUTLS_E_FATAL_ALERT_RECEIVED)
            c = GNUTLS_E_FATAL_ALERT_RECEIVED;
        if (c == GNUTLS_E_FATAL_ALERT_RECEIVED)
            result = gnutls_alert_get_strname(gnutls_alert_get(client));
        else if (s == 0 && c == 0)
            result = tls_peer_is_known(server) ? "known" : "ok";
    }
    gnutls_deinit(server);
    gnutls_deinit(client);
    gnutls_certificate_free_credentials(credentials);
    close(fds[0]);
    close(fds[1]);
    return result ? result : "nothing";
}

#define ONLY_1_1 "NORMAL:-VERS-ALL:+VERS-TLS1.1"
#define ONLY_1_2 "NORMAL:-VERS-ALL:+VERS-TLS1.2"
#define ONLY_1_3 "NORMAL:-VERS-ALL:+VERS-TLS1.3"

static const struct {
    enum client_auth auth;
    const struct identity *identity;
    const char *san, *result, *result_1_2; /* NULL: equal to `result` */
} clients[] = {
    {CLIENT_AUTH_NONE, NULL, NULL, "ok", NULL},
    {CLIENT_AUTH_NONE, &pki[CLIENT], NULL, "ok", NULL},
    {CLIENT_AUTH_REQUEST, NULL, NULL, "ok", NULL},
    {CLIENT_AUTH_REQUEST, &pki[STRANGER], NULL, "ok", NULL},
    {CLIENT_AUTH_REQUIRE_ANY, NULL, NULL, "GNUTLS_A_CERTIFICATE_REQUIRED", "GNUTLS_A_BAD_CERTIFICATE"},
    {CLIENT_AUTH_REQUIRE_ANY, &pki[STRANGER], NULL, "ok", NULL},
    {CLIENT_AUTH_VERIFY_IF_GIVEN, NULL, NULL, "ok", NULL},
    {CLIENT_AUTH_VERIFY_IF_GIVEN, &pki[CLIENT], NULL, "known", NULL},
    {CLIENT_AUTH_VERIFY_IF_GIVEN, &pki[STRANGER], NULL, "GNUTLS_A_UNKNOWN_CA", NULL},
    {CLIENT_AUTH_REQUIRE_AND_VERIFY, NULL, NULL, "GNUTLS_A_CERTIFICATE_REQUIRED", "GNUTLS_A_BAD_CERTIFICATE"},
    {CLIENT_AUTH_REQUIRE_AND_VERIFY, &pki[CLIENT], NULL, "known", NULL},
    {CLIENT_AUTH_REQUIRE_AND_VERIFY, &pki[STRANGER], NULL, "GNUTLS_A_UNKNOWN_CA", NULL},
    {CLIENT_AUTH_REQUIRE_AND_VERIFY, &pki[EXPIRED], NULL, "GNUTLS_A_CERTIFICATE_EXPIRED", NULL},
    {CLIENT_AUTH_REQUIRE_AND_VERIFY, &pki[SERVER], NULL, "GNUTLS_A_BAD_CERTIFICATE", NULL},
    {CLIENT_AUTH_REQUIRE_AND_VERIFY, &pki[CLIENT], "client", "known", NULL},
    {CLIENT_AUTH_REQUIRE_AND_VERIFY, &pki[CLIENT], "192.0.2.7", "known", NULL},
    {CLIENT_AUTH_REQUIRE_AND_VERIFY, &pki[CLIENT], "spiffe://x/y", "known", NULL},
    {CLIENT_AUTH_REQUIRE_AND_VERIFY, &pki[CLIENT], "clien", "GNUTLS_A_BAD_CERTIFICATE", NULL},
    {CLIENT_AUTH_REQUIRE_AND_VERIFY, &pki[CLIENT], "192.0.2.8", "GNUTLS_A_BAD_CERTIFICATE", NULL},
    {CLIENT_AUTH_REQUIRE_ANY, &pki[STRANGER], "other", "GNUTLS_A_BAD_CERTIFICATE", NULL},
};

/*
 * If no client CA is configured, clients are verified with the system's CAs, which sign for everybody. Such clients are
 * accepted, but not treated as known unless their name is compared.
 */
static const struct {
    enum client_auth auth;
    bool in_ca;
    const struct identity *identity;
    const char *san, *result;
    bool out_warned;
} trusts[] = {
    {CLIENT_AUTH_REQUIRE_AND_VERIFY, true, &pki[CLIENT], NULL, "known", false},
    {CLIENT_AUTH_REQUIRE_AND_VERIFY, false, &pki[CLIENT], NULL, "ok", true},
    {CLIENT_AUTH_REQUIRE_AND_VERIFY, false, &pki[CLIENT], "client", "known", false},
    {CLIENT_AUTH_REQUIRE_AND_VERIFY, false, &pki[CLIENT], "other", "GNUTLS_A_BAD_CERTIFICATE", false},
    {CLIENT_AUTH_REQUIRE_AND_VERIFY, false, &pki[STRANGER], NULL, "GNUTLS_A_UNKNOWN_CA", true},
    {CLIENT_AUTH_VERIFY_IF_GIVEN, true, &pki[CLIENT], NULL, "known", false},
    {CLIENT_AUTH_VERIFY_IF_GIVEN, false, &pki[CLIENT], NULL, "ok", true},
    {CLIENT_AUTH_VERIFY_IF_GIVEN, false, NULL, NULL, "ok", true},
    {CLIENT_AUTH_REQUIRE_ANY, false, &pki[CLIENT], NULL, "ok", false},
    {CLIENT_AUTH_REQUIRE_ANY, false, &pki[CLIENT], "client", "ok", false},
    {CLIENT_AUTH_NONE, false, NULL, NULL, "ok", false},
};

TEST(test_trusts)
{
    for (size_t i = 0; i < ARRAY_SIZE(trusts); i++) {
        struct web_tls config = config_of(trusts[i].auth);
        char *sans[] = {(char *)trusts[i].san};
        _cleanup_(tls_unrefp) struct tls *tls = NULL;

        config.client_allowed_sans = (struct text_list){sans, trusts[i].san ? 1 : 0};
        config.client_ca = trusts[i].in_ca ? config.client_ca : NULL;
        print_message("%zu\n", i);
        assert_int_equal(tls_new(&config, NULL, &tls, NULL), 0);
        assert_string_equal(shake_hands(tls, trusts[i].identity, "NORMAL"), trusts[i].result);
        assert_int_equal(tls_clients_warning(tls) != NULL, trusts[i].out_warned);
    }
}

TEST(test_clients)
{
    for (size_t i = 0; i < ARRAY_SIZE(clients); i++) {
        struct web_tls config = config_of(clients[i].auth);
        char *sans[] = {(char *)"someone", (char *)clients[i].san};
        _cleanup_(tls_unrefp) struct tls *tls = NULL;
        struct error error;

        config.client_allowed_sans = (struct text_list){sans, clients[i].san ? 2 : 0};
        print_message("%zu\n", i);
        assert_int_equal(tls_new(&config, NULL, &tls, &error), 0);
        assert_null(tls_warning(tls));
        assert_string_equal(shake_hands(tls, clients[i].identity, ONLY_1_3), clients[i].result);
        assert_string_equal(shake_hands(tls, clients[i].identity, ONLY_1_2),
                            clients[i].result_1_2 ? clients[i].result_1_2 : clients[i].result);
    }
}

static const struct {
    enum tls_version min, max;
    const char *priorities, *result;
} versions[] = {
    {V1_2, V1_3, "NORMAL", "ok"},
    {V1_2, V1_2, "NORMAL", "ok"},
    {V1_2, V1_3, ONLY_1_1, "GNUTLS_A_PROTOCOL_VERSION"},
    {V1_3, V1_3, ONLY_1_2, "GNUTLS_A_PROTOCOL_VERSION"},
    {V1_2, V1_2, ONLY_1_3, "GNUTLS_A_PROTOCOL_VERSION"},
    {TLS_VERSION_1_1, V1_3, ONLY_1_1, "ok"},
};

TEST(test_versions)
{
    for (size_t i = 0; i < ARRAY_SIZE(versions); i++) {
        struct web_tls config = config_of(CLIENT_AUTH_NONE);
        _cleanup_(tls_unrefp) struct tls *tls = NULL;
        struct error error;

        config.min_version = versions[i].min;
        config.max_version = versions[i].max;
        print_message("%zu\n", i);
        assert_int_equal(tls_new(&config, NULL, &tls, &error), 0);
        assert_string_equal(shake_hands(tls, NULL, versions[i].priorities), versions[i].result);
    }
}

TEST(test_bad)
{
    const struct {
        const char *cert, *key, *ca, *sentence;
    } cases[] = {
        {pki[SERVER].crt_pem, NULL, NULL, "there is no key_file"},
        {NULL, pki[SERVER].key_pem, NULL, "there is no cert_file"},
        {pki[SERVER].crt_pem, pki[CLIENT].key_pem, NULL, "key is not the key of cert"},
        {"x", pki[SERVER].key_pem, NULL, "cert is not PEM"},
        {pki[SERVER].key_pem, pki[SERVER].key_pem, NULL, "cert contains no certificate"},
        {pki[SERVER].crt_pem, pki[SERVER].crt_pem, NULL, "key contains no private key"},
        {pki[SERVER].crt_pem, "-----BEGIN ENCRYPTED PRIVATE KEY-----\n", NULL, "key is encrypted"},
        {pki[SERVER].crt_pem, "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n", NULL, "damaged"},
        {"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", pki[SERVER].key_pem, NULL, "damaged"},
        {pki[SERVER].crt_pem, pki[SERVER].key_pem, pki[CA].key_pem, "client_ca contains no certificate"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct web_tls config = config_of(CLIENT_AUTH_REQUIRE_AND_VERIFY);
        struct error error = {0};
        struct tls *tls = NULL;

        config.cert = (char *)cases[i].cert;
        config.key = (char *)cases[i].key;
        config.client_ca = cases[i].ca ? (char *)cases[i].ca : config.client_ca;
        assert_int_equal(tls_new(&config, NULL, &tls, &error), -EINVAL);
        assert_null(tls);
        print_message("%s\n", error.message);
        assert_non_null(strstr(error.message, cases[i].sentence));
    }
}

TEST(test_expired)
{
    struct web_tls config = config_of(CLIENT_AUTH_NONE);
    _cleanup_(tls_unrefp) struct tls *tls = NULL;
    struct error error;

    config.cert = pki[EXPIRED].crt_pem;
    config.key = pki[EXPIRED].key_pem;
    assert_int_equal(tls_new(&config, NULL, &tls, &error), 0);
    assert_non_null(strstr(tls_warning(tls), "expired on "));
    assert_string_equal(shake_hands(tls, NULL, "NORMAL"), "ok");
}

/* --- sessions on sockets */

#define ANSWER "HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n"
#define LONG_PATH 8000

struct fixture {
    int client, server;
    gnutls_session_t session;
    struct tls_transport transport;
    uint64_t progress;
};

static void start(struct fixture *f)
{
    int fds[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds), 0);
    f->client = fds[0];
    f->server = fds[1];
    f->progress = 0;
    f->transport = (struct tls_transport){.fd = f->server, .progress = &f->progress};
    assert_int_equal(gnutls_init(&f->session, GNUTLS_SERVER | GNUTLS_NONBLOCK), 0);
    assert_int_equal(gnutls_set_default_priority(f->session), 0);
    tls_transport_use(&f->transport, f->session);
}

static void stop(struct fixture *f)
{
    gnutls_deinit(f->session);
    close(f->client);
    close(f->server);
}

static void say(struct fixture *f, const char *data, size_t size)
{
    assert_int_equal(send(f->client, data, size, MSG_NOSIGNAL), size);
}

/*
 * Closes the server's side and returns all that the client receives. If the server had left data unread, the connection
 * would be reset, and recv() would fail.
 */
static const char *received(struct fixture *f)
{
    static char text[4096];
    size_t size = 0;
    ssize_t n;

    close(f->server);
    while ((n = recv(f->client, text + size, sizeof(text) - 1 - size, 0)) > 0)
        size += (size_t)n;
    assert_int_equal(n, 0);
    text[size] = '\0';
    f->server = -1;
    return text;
}

TEST(test_plain_http)
{
    static char long_request[LONG_PATH];
    const char *const in[] = {"GET / HTTP/1.1\r\nHost: a\r\n\r\n", "P", "OPTIONS * HTTP/1.1\r\n\r\n", "Zebra",
                              long_request};

    snprintf(long_request, sizeof(long_request), "GET /%0*d", LONG_PATH - 10, 0);
    for (size_t i = 0; i < ARRAY_SIZE(in); i++) {
        struct fixture f;
        start(&f);
        say(&f, in[i], strlen(in[i]));
        assert_int_equal(gnutls_handshake(f.session), GNUTLS_E_PULL_ERROR);
        assert_true(f.transport.ended);
        assert_true(f.progress > 0);
        /* The server sends no alert, since the client does not speak TLS. */
        gnutls_bye(f.session, GNUTLS_SHUT_WR);
        assert_string_equal(received(&f), ANSWER);
        stop(&f);
    }
}

/*
 * The client first sends nothing, then some bytes. Whether it speaks TLS is decided by the first byte alone; anything
 * may follow.
 */
TEST(test_records)
{
    static const char in[] = "\x16\x03\x01\x02\0";
    struct fixture f;

    start(&f);
    for (int i = 0; i < 3; i++)
        assert_int_equal(gnutls_handshake(f.session), GNUTLS_E_AGAIN);
    assert_false(f.transport.begun);
    assert_int_equal(f.progress, 0);
    for (size_t i = 0; i + 1 < sizeof(in); i++) {
        say(&f, in + i, 1);
        assert_int_equal(gnutls_handshake(f.session), GNUTLS_E_AGAIN);
    }
    say(&f, "GET", 3);
    assert_int_equal(gnutls_handshake(f.session), GNUTLS_E_AGAIN);
    assert_false(f.transport.ended);
    assert_string_equal(received(&f), "");
    stop(&f);
}

TEST(test_other_protocols)
{
    static const char *const in[] = {"\x80\x2e\x01\x03\x01", "\x15\x03\x01\0\2\2\x28", "hello\r\n", "\xff"};

    for (size_t i = 0; i < ARRAY_SIZE(in); i++) {
        struct fixture f;
        start(&f);
        say(&f, in[i], strlen(in[i]));
        gnutls_handshake(f.session);
        assert_false(f.transport.ended);
        stop(&f);
    }
}

TEST_MAIN(make_pki, free_pki)
