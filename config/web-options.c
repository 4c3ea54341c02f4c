/* SPDX-License-Identifier: Apache-2.0 */
/* The keys of the web configuration: see web-options.h. */
#include "config/web-options.h"

#include "base/suggest.h"
#include "config/option-types.h"
#include "config/web-option-types.h"
#include "config/web-values.h"

static const struct option_choice client_auths[] = {
    {"NoClientCert", CLIENT_AUTH_NONE},
    {"RequestClientCert", CLIENT_AUTH_REQUEST},
    {"RequireAnyClientCert", CLIENT_AUTH_REQUIRE_ANY},
    {"RequireClientCert", CLIENT_AUTH_REQUIRE_ANY}, /* the first name that the exporters gave it */
    {"VerifyClientCertIfGiven", CLIENT_AUTH_VERIFY_IF_GIVEN},
    {"RequireAndVerifyClientCert", CLIENT_AUTH_REQUIRE_AND_VERIFY},
    {"", CLIENT_AUTH_NONE},
    {NULL, 0},
};

static const struct option_choice tls_versions[] = {
    {"TLS10", TLS_VERSION_1_0},
    {"TLS11", TLS_VERSION_1_1},
    {"TLS12", TLS_VERSION_1_2},
    {"TLS13", TLS_VERSION_1_3},
    {NULL, 0},
};

/* The names of crypto/tls.CipherSuites() since Go 1.17, without 3DES. */
static const char *const cipher_suites[] = {
    "TLS_AES_128_GCM_SHA256",
    "TLS_AES_256_GCM_SHA384",
    "TLS_CHACHA20_POLY1305_SHA256",
    "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256",
    "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384",
    "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256",
    "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA",
    "TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA",
    "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
    "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384",
    "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256",
    "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA",
    "TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA",
    "TLS_RSA_WITH_AES_128_GCM_SHA256",
    "TLS_RSA_WITH_AES_256_GCM_SHA384",
    "TLS_RSA_WITH_AES_128_CBC_SHA",
    "TLS_RSA_WITH_AES_256_CBC_SHA",
};

/* The names of crypto/tls.InsecureCipherSuites(); the exporters refuse them. */
static const char *const weak_cipher_suites[] = {
    "TLS_RSA_WITH_RC4_128_SHA",
    "TLS_RSA_WITH_3DES_EDE_CBC_SHA",
    "TLS_RSA_WITH_AES_128_CBC_SHA256",
    "TLS_ECDHE_ECDSA_WITH_RC4_128_SHA",
    "TLS_ECDHE_RSA_WITH_RC4_128_SHA",
    "TLS_ECDHE_RSA_WITH_3DES_EDE_CBC_SHA",
    "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256",
    "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256",
};

static const char *const curves[] = {"CurveP256", "CurveP384", "CurveP521", "X25519"};

static int check_known_name(const char *what, const char *text, const char *const *names, size_t n, struct error *error)
{
    struct suggest suggest = {.wrong = text};
    char nearest[192];

    if (str_is_one_of(text, names, n))
        return 0;
    for (size_t i = 0; i < n; i++)
        suggest_consider(&suggest, names[i]);
    return error_set(error, -EINVAL, "there is no %s \"%s\"%s", what, text,
                     suggest_format(&suggest, nearest, sizeof(nearest)));
}

static int check_cipher_suite(const char *text, struct error *error)
{
    if (str_is_one_of(text, weak_cipher_suites, ARRAY_SIZE(weak_cipher_suites)))
        return error_set(error, -EINVAL, "%s is weak and not offered", text);
    return check_known_name("cipher suite", text, cipher_suites, ARRAY_SIZE(cipher_suites), error);
}

static int check_curve(const char *text, struct error *error)
{
    return check_known_name("curve", text, curves, ARRAY_SIZE(curves), error);
}

static int check_san(const char *text, struct error *error)
{
    return text[0] ? 0 : error_set(error, -EINVAL, "the name is empty; no certificate has an empty name");
}

static int check_path(const char *text, struct error *error)
{
    return text[0] == '/' ? 0 : error_set(error, -EINVAL, "\"%s\" does not start with \"/\"", text);
}

#define MEMBER(type_of, member) .type = &option_##type_of, .offset = offsetof(struct web_config, member)
#define LIST(member) MEMBER(text_list, member.items), .count_offset = offsetof(struct web_config, member.n)
/* The most items of a list: fleets have many names. */
#define MANY 1024

static const struct option web_rows[WEB_OPTIONS] = {
    [WEB_CERT] =
        {
            .path = "tls_server_config.cert",
            MEMBER(pem, tls.cert),
            .range = "PEM, instead of cert_file",
            .help = "the certificate and its chain, as text",
        },
    [WEB_KEY] =
        {
            .path = "tls_server_config.key",
            MEMBER(pem, tls.key),
            .range = "PEM, instead of key_file",
            .help = "the key of the certificate, as text",
        },
    [WEB_CLIENT_CA] =
        {
            .path = "tls_server_config.client_ca",
            MEMBER(pem, tls.client_ca),
            .range = "PEM, instead of client_ca_file",
            .help = "the certificates of the authorities that sign clients' certificates, as text",
        },
    [WEB_CERT_FILE] =
        {
            .path = "tls_server_config.cert_file",
            MEMBER(optional_text, tls.cert_file),
            .range = "a path, relative to the directory of this file",
            .help = "the file of the certificate and its chain",
        },
    [WEB_KEY_FILE] =
        {
            .path = "tls_server_config.key_file",
            MEMBER(optional_text, tls.key_file),
            .range = "a path, relative to the directory of this file",
            .help = "the file of the certificate's key",
        },
    [WEB_CLIENT_AUTH_TYPE] =
        {
            .path = "tls_server_config.client_auth_type",
            MEMBER(choice, tls.client_auth),
            .choices = client_auths,
            .range = "NoClientCert, RequestClientCert, RequireAnyClientCert, VerifyClientCertIfGiven or "
                     "RequireAndVerifyClientCert",
            .help = "whether clients must have a certificate",
        },
    [WEB_CLIENT_CA_FILE] =
        {
            .path = "tls_server_config.client_ca_file",
            MEMBER(optional_text, tls.client_ca_file),
            .range = "a path, relative to the directory of this file",
            .help = "the file with the certificates of the authorities that sign clients' certificates",
        },
    [WEB_CLIENT_ALLOWED_SANS] =
        {
            .path = "tls_server_config.client_allowed_sans",
            LIST(tls.client_allowed_sans),
            .min = 1,
            .max = MANY,
            .check = check_san,
            .range = "1 to 1024 DNS names, IP addresses, e-mail addresses or URIs",
            .help = "a client's certificate must have one of these names",
        },
    [WEB_MIN_VERSION] =
        {
            .path = "tls_server_config.min_version",
            MEMBER(choice, tls.min_version),
            .choices = tls_versions,
            .range = "TLS10, TLS11, TLS12 or TLS13",
            .help = "the lowest version of TLS",
        },
    [WEB_MAX_VERSION] =
        {
            .path = "tls_server_config.max_version",
            MEMBER(choice, tls.max_version),
            .choices = tls_versions,
            .range = "TLS10, TLS11, TLS12 or TLS13",
            .help = "the highest version of TLS",
        },
    [WEB_CIPHER_SUITES] =
        {
            .path = "tls_server_config.cipher_suites",
            LIST(tls.cipher_suites),
            .check = check_cipher_suite,
            .range = "Go's names",
            .help = "the cipher suites, in order of preference",
        },
    [WEB_PREFER_SERVER_CIPHER_SUITES] =
        {
            .path = "tls_server_config.prefer_server_cipher_suites",
            MEMBER(yaml11_bool, tls.prefer_server_cipher_suites),
            .range = "true or false",
            .help = "whether the order of cipher_suites comes before the client's order",
        },
    [WEB_CURVE_PREFERENCES] =
        {
            .path = "tls_server_config.curve_preferences",
            LIST(tls.curve_preferences),
            .check = check_curve,
            .range = "CurveP256, CurveP384, CurveP521 and X25519",
            .help = "the curves of key exchange, in order of preference",
        },
    [WEB_HTTP2] =
        {
            .path = "http_server_config.http2",
            MEMBER(yaml11_bool, http2),
            .range = "true or false",
            .help = "whether HTTP/2 is allowed; the server speaks HTTP/1.1",
        },
    [WEB_HEADERS] =
        {
            .path = "http_server_config.headers",
            .type = &option_headers,
            .range = "Content-Security-Policy, Strict-Transport-Security, X-Content-Type-Options, X-Frame-Options and "
                     "X-XSS-Protection",
            .help = "headers of every response",
        },
    [WEB_USERS] =
        {
            .path = "basic_auth_users",
            .type = &option_users,
            .range = "names, each with a bcrypt hash",
            .help = "the users who may read, and the hashes of their passwords",
        },
    [WEB_RATE_INTERVAL] =
        {
            .path = "rate_limit.interval",
            MEMBER(go_duration, rate_interval_ns),
            .max = INT64_MAX,
            .range = "0 to 292 years",
            .help = "the mean time between two requests; 0 for no limit",
        },
    [WEB_RATE_BURST] =
        {
            .path = "rate_limit.burst",
            MEMBER(number, rate_burst),
            .max = INT32_MAX,
            .range = "0 to 2147483647",
            .help = "how many requests may come at once",
        },
    [WEB_AUTH_EXCLUDED_PATHS] =
        {
            .path = "auth_excluded_paths",
            LIST(auth_excluded_paths),
            .max = MANY,
            .check = check_path,
            .range = "at most 1024 paths, each from its \"/\"",
            .help = "what can be read without a password",
        },
};

const struct option_table web_options = {
    .rows = web_rows,
    .n = ARRAY_SIZE(web_rows),
    .null_is_absent = true,
};
