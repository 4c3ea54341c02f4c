/* SPDX-License-Identifier: Apache-2.0 */
/* Handshakes in memory between a server's session and a client's, and the errors of certificates and keys. */
#include <gnutls/x509.h>
#include <sys/socket.h>
#include <time.h>

#include "http/tls/tls.h"
#include "tests/unit/test.h"

#define DAY 86400

struct identity {
    gnutls_x509_privkey_t key;
    gnutls_x509_crt_t crt;
    char *key_pem, *crt_pem;
};

static struct {
    struct identity ca, elsewhere, server, client, stranger, expired;
} pki;

static char *pem_of(gnutls_datum_t *data)
{
    char *text = strndup((char *)data->data, data->size);

    gnutls_free(data->data);
    return text;
}

/* A certificate of `issuer`; NULL for a CA. */
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

static void identity_done(struct identity *identity)
{
    gnutls_x509_privkey_deinit(identity->key);
    gnutls_x509_crt_deinit(identity->crt);
    free(identity->key_pem);
    free(identity->crt_pem);
}

static int make_pki(void **state)
{
    (void)state;
    pki.ca = make_identity(NULL, "ca", NULL, DAY);
    pki.elsewhere = make_identity(NULL, "elsewhere", NULL, DAY);
    pki.server = make_identity(&pki.ca, "server", GNUTLS_KP_TLS_WWW_SERVER, DAY);
    pki.client = make_identity(&pki.ca, "client", GNUTLS_KP_TLS_WWW_CLIENT, DAY);
    pki.stranger = make_identity(&pki.elsewhere, "client", GNUTLS_KP_TLS_WWW_CLIENT, DAY);
    pki.expired = make_identity(&pki.ca, "client", GNUTLS_KP_TLS_WWW_CLIENT, -DAY);
    return 0;
}

static int free_pki(void **state)
{
    (void)state;
    identity_done(&pki.ca);
    identity_done(&pki.elsewhere);
    identity_done(&pki.server);
    identity_done(&pki.client);
    identity_done(&pki.stranger);
    identity_done(&pki.expired);
    return 0;
}

static struct web_tls config_of(enum client_auth auth)
{
    return (struct web_tls){
        .enabled = true,
        .cert = pki.server.crt_pem,
        .key = pki.server.key_pem,
        .client_ca = auth ? pki.ca.crt_pem : NULL,
        .client_auth = auth,
        .min_version = TLS_VERSION_1_2,
        .max_version = TLS_VERSION_1_3,
    };
}

/* The result: "ok", "verified", or the alert that the client got. */
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
    /* It shows its certificate, whatever CAs the server names. */
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
            result = tls_peer_verified(server) ? "verified" : "ok";
    }
    gnutls_deinit(server);
    gnutls_deinit(client);
    gnutls_certificate_free_credentials(credentials);
    close(fds[0]);
    close(fds[1]);
    return result ? result : "nothing";
}

#define ONLY_1_2 "NORMAL:-VERS-ALL:+VERS-TLS1.2"
#define ONLY_1_3 "NORMAL:-VERS-ALL:+VERS-TLS1.3"

static const struct {
    enum client_auth auth;
    const struct identity *identity;
    const char *san, *result, *result_1_2; /* NULL: the same */
} clients[] = {
    {CLIENT_AUTH_NONE, NULL, NULL, "ok", NULL},
    {CLIENT_AUTH_NONE, &pki.client, NULL, "ok", NULL},
    {CLIENT_AUTH_REQUEST, NULL, NULL, "ok", NULL},
    {CLIENT_AUTH_REQUEST, &pki.stranger, NULL, "ok", NULL},
    {CLIENT_AUTH_REQUIRE_ANY, NULL, NULL, "GNUTLS_A_CERTIFICATE_REQUIRED", "GNUTLS_A_BAD_CERTIFICATE"},
    {CLIENT_AUTH_REQUIRE_ANY, &pki.stranger, NULL, "ok", NULL},
    {CLIENT_AUTH_VERIFY_IF_GIVEN, NULL, NULL, "ok", NULL},
    {CLIENT_AUTH_VERIFY_IF_GIVEN, &pki.client, NULL, "verified", NULL},
    {CLIENT_AUTH_VERIFY_IF_GIVEN, &pki.stranger, NULL, "GNUTLS_A_UNKNOWN_CA", NULL},
    {CLIENT_AUTH_REQUIRE_AND_VERIFY, NULL, NULL, "GNUTLS_A_CERTIFICATE_REQUIRED", "GNUTLS_A_BAD_CERTIFICATE"},
    {CLIENT_AUTH_REQUIRE_AND_VERIFY, &pki.client, NULL, "verified", NULL},
    {CLIENT_AUTH_REQUIRE_AND_VERIFY, &pki.stranger, NULL, "GNUTLS_A_UNKNOWN_CA", NULL},
    {CLIENT_AUTH_REQUIRE_AND_VERIFY, &pki.expired, NULL, "GNUTLS_A_CERTIFICATE_EXPIRED", NULL},
    {CLIENT_AUTH_REQUIRE_AND_VERIFY, &pki.server, NULL, "GNUTLS_A_BAD_CERTIFICATE", NULL},
    {CLIENT_AUTH_REQUIRE_AND_VERIFY, &pki.client, "client", "verified", NULL},
    {CLIENT_AUTH_REQUIRE_AND_VERIFY, &pki.client, "192.0.2.7", "verified", NULL},
    {CLIENT_AUTH_REQUIRE_AND_VERIFY, &pki.client, "spiffe://x/y", "verified", NULL},
    {CLIENT_AUTH_REQUIRE_AND_VERIFY, &pki.client, "clien", "GNUTLS_A_BAD_CERTIFICATE", NULL},
    {CLIENT_AUTH_REQUIRE_AND_VERIFY, &pki.client, "192.0.2.8", "GNUTLS_A_BAD_CERTIFICATE", NULL},
    {CLIENT_AUTH_REQUIRE_ANY, &pki.stranger, "other", "GNUTLS_A_BAD_CERTIFICATE", NULL},
};

static void test_clients(void **state)
{
    (void)state;
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
} version_cases[] = {
    {TLS_VERSION_1_2, TLS_VERSION_1_3, "NORMAL", "ok"},
    {TLS_VERSION_1_2, TLS_VERSION_1_2, "NORMAL", "ok"},
    {TLS_VERSION_1_2, TLS_VERSION_1_3, "NORMAL:-VERS-ALL:+VERS-TLS1.1", "GNUTLS_A_PROTOCOL_VERSION"},
    {TLS_VERSION_1_3, TLS_VERSION_1_3, ONLY_1_2, "GNUTLS_A_PROTOCOL_VERSION"},
    {TLS_VERSION_1_2, TLS_VERSION_1_2, ONLY_1_3, "GNUTLS_A_PROTOCOL_VERSION"},
    {TLS_VERSION_1_1, TLS_VERSION_1_3, "NORMAL:-VERS-ALL:+VERS-TLS1.1", "ok"},
};

static void test_versions(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(version_cases); i++) {
        struct web_tls config = config_of(CLIENT_AUTH_NONE);
        _cleanup_(tls_unrefp) struct tls *tls = NULL;
        struct error error;

        config.min_version = version_cases[i].min;
        config.max_version = version_cases[i].max;
        print_message("%zu\n", i);
        assert_int_equal(tls_new(&config, NULL, &tls, &error), 0);
        assert_string_equal(shake_hands(tls, NULL, version_cases[i].priorities), version_cases[i].result);
    }
}

static void test_bad(void **state)
{
    const struct {
        const char *cert, *key, *ca, *sentence;
    } cases[] = {
        {pki.server.crt_pem, NULL, NULL, "there is no key_file"},
        {NULL, pki.server.key_pem, NULL, "there is no cert_file"},
        {pki.server.crt_pem, pki.client.key_pem, NULL, "key is not the key of cert"},
        {"x", pki.server.key_pem, NULL, "cert is not PEM"},
        {pki.server.key_pem, pki.server.key_pem, NULL, "cert has no certificate in it"},
        {pki.server.crt_pem, pki.server.crt_pem, NULL, "key has no private key"},
        {pki.server.crt_pem, "-----BEGIN ENCRYPTED PRIVATE KEY-----\n", NULL, "key is encrypted"},
        {pki.server.crt_pem, "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n", NULL, "damaged"},
        {"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", pki.server.key_pem, NULL, "damaged"},
        {pki.server.crt_pem, pki.server.key_pem, pki.ca.key_pem, "client_ca has no certificate in it"},
    };

    (void)state;
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

static void test_expired(void **state)
{
    struct web_tls config = config_of(CLIENT_AUTH_NONE);
    _cleanup_(tls_unrefp) struct tls *tls = NULL;
    struct error error;

    (void)state;
    config.cert = pki.expired.crt_pem;
    config.key = pki.expired.key_pem;
    assert_int_equal(tls_new(&config, NULL, &tls, &error), 0);
    assert_non_null(strstr(tls_warning(tls), "expired on "));
    assert_string_equal(shake_hands(tls, NULL, "NORMAL"), "ok");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_clients),
        cmocka_unit_test(test_versions),
        cmocka_unit_test(test_bad),
        cmocka_unit_test(test_expired),
    };
    return cmocka_run_group_tests(tests, make_pki, free_pki);
}
