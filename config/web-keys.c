/* SPDX-License-Identifier: Apache-2.0 */
#include "config/web-keys.h"

#include "base/cleanup.h"
#include "base/number.h"
#include "base/text.h"
#include "config/web-values.h"

/* --- bcrypt --- */

/*
 * The variants of bcrypt that libcrypt supports (crypt(5)). Go's bcrypt accepts any letter or none, but no program
 * writes other variants.
 */
#define VARIANTS "abxy"
#define ALPHABET "./ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
#define COST_MIN 4
#define COST_MAX 31
/* Number of characters after the last "$": 22 for the salt and 31 for the hash. */
#define DIGEST_SIZE 53

#define HOW_TO "; \"htpasswd -nBC 10 NAME\" asks for the password and prints NAME:HASH"

static bool bcrypt_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static int bcrypt_check_cost(const char *text, struct error *error)
{
    int cost = bcrypt_is_digit(text[0]) && bcrypt_is_digit(text[1]) ? 10 * (text[0] - '0') + text[1] - '0' : -1;

    if (cost < COST_MIN || cost > COST_MAX || text[2] != '$')
        return error_set(error, -EINVAL,
                         "the bcrypt hash is damaged: the cost must be two digits, from %02d to %d, followed by \"$\"",
                         COST_MIN, COST_MAX);
    return 0;
}

static int bcrypt_check_digest(const char *text, struct error *error)
{
    size_t size = strlen(text);

    if (text[strspn(text, ALPHABET)])
        return error_set(error, -EINVAL, "the bcrypt hash is damaged: it contains a character that bcrypt never uses");
    if (size != DIGEST_SIZE)
        return error_set(error, -EINVAL, "the bcrypt hash is damaged: it has %zu characters after the cost, not %d",
                         size, DIGEST_SIZE);
    return 0;
}

/* Returns whether the string looks like another kind of hash: "$6$...$", "$apr1$...$", "{SHA}...". */
static bool bcrypt_is_other_hash(const char *text)
{
    return (text[0] == '$' && strchr(text + 1, '$')) || (text[0] == '{' && strchr(text, '}'));
}

int bcrypt_check(const char *text, struct error *error)
{
    static const char usual[] = "$2y$";

    if (text[0] == '\0')
        return error_set(error, -EINVAL, "there is no hash" HOW_TO);
    if (!str_starts(text, "$2"))
        return error_set(error, -EINVAL, "%s" HOW_TO,
                         bcrypt_is_other_hash(text) ? "this is a hash, but not a bcrypt hash"
                                                    : "this is not a bcrypt hash, but looks like the password itself");
    if (text[2] == '\0' || !strchr(VARIANTS, text[2]) || text[3] != '$')
        return error_set(error, -EINVAL, "the bcrypt hash does not start with $2a$, $2b$, $2x$ or $2y$");
    int r = bcrypt_check_cost(text + strlen(usual), error);
    return r < 0 ? r : bcrypt_check_digest(text + strlen(usual) + strlen("10$"), error);
}

/* --- Scalars --- */

static int optional_text_parse(const struct option *option, const char *text, void *base, struct error *error)
{
    char **to = option_member(option, base), *copy = text[0] ? strdup(text) : NULL;

    if (text[0] && !copy)
        return error_oom(error);
    free(*to);
    *to = copy;
    return 0;
}

const struct option_type option_optional_text = {"a string", option_read_text, optional_text_parse, NULL,
                                                 option_done_text};

/* Refuses a string without a PEM block, because it is usually a file name. Comments may precede the first PEM block. */
static int pem_parse(const struct option *option, const char *text, void *base, struct error *error)
{
    if (text[0] && !strstr(text, "-----BEGIN "))
        return error_set(error, -EINVAL,
                         "expected PEM with a \"-----BEGIN ...\" line; to give a file name, use %s_file",
                         strrchr(option->path, '.') + 1);
    return optional_text_parse(option, text, base, error);
}

const struct option_type option_pem = {"PEM on several lines", option_read_text, pem_parse, NULL, option_done_text};

/* Besides true and false, Prometheus exporters accept these words, because they read YAML 1.1. */
static const char *const yes_words[] = {"y", "Y", "yes", "Yes", "YES", "on", "On", "ON"};
static const char *const no_words[] = {"n", "N", "no", "No", "NO", "off", "Off", "OFF"};

static bool is_plain_word(const yaml_node_t *n, const char *const *words, size_t n_words)
{
    const char *text = node_text(n);

    return text && n->data.scalar.style == YAML_PLAIN_SCALAR_STYLE && str_is_one_of(text, words, n_words);
}

static int yaml11_bool_read(const struct option *option, const struct document *document, const yaml_node_t *n,
                            void *base, struct error *error)
{
    bool yes = is_plain_word(n, yes_words, ARRAY_SIZE(yes_words));

    if (!yes && !is_plain_word(n, no_words, ARRAY_SIZE(no_words)))
        return option_bool.read(option, document, n, base, error);
    *(bool *)option_member(option, base) = yes;
    return 0;
}

const struct option_type option_yaml11_bool = {"true or false", yaml11_bool_read, NULL, NULL, option_done_nothing};

/*
 * Parses a number and its unit, which together have `size` bytes. For microseconds Go accepts "us", and also U+00B5 or
 * U+03BC instead of the "u".
 */
static int go_duration_part_parse(const char *text, size_t size, uint64_t *ret)
{
    char part[64];
    size_t number = strspn(text, "0123456789.");
    bool micro = str_starts(text + number, "\xc2\xb5") || str_starts(text + number, "\xce\xbc");

    if (number == 0 || size >= sizeof(part) || text[size - 1] == 'd') /* Go's durations have no unit for days */
        return -EINVAL;
    if (micro)
        snprintf(part, sizeof(part), "%.*su%.*s", (int)number, text, (int)(size - number - 2), text + number + 2);
    else
        snprintf(part, sizeof(part), "%.*s", (int)size, text);
    return number_parse_duration(part, ret);
}

/* Parses a duration that consists of several parts, such as 1m30s. A number without a unit is in nanoseconds. */
static int go_duration_parse_ns(const char *text, uint64_t *ret)
{
    uint64_t total = 0, ns;

    if (text[strspn(text, "0123456789")] == '\0')
        return number_parse_u64(text, ret);
    while (*text) {
        size_t number = strspn(text, "0123456789."), size = number + strcspn(text + number, "0123456789.");
        int r = go_duration_part_parse(text, size, &ns);
        if (r < 0)
            return r;
        if (__builtin_add_overflow(total, ns, &total))
            return -ERANGE;
        text += size;
    }
    *ret = total;
    return 0;
}

static int go_duration_parse(const struct option *option, const char *text, void *base, struct error *error)
{
    uint64_t ns = 0;
    int r = go_duration_parse_ns(text, &ns);

    return option_set_number(option, text, r, ns,
                             "a duration with units (ns, us, ms, s, m or h), such as 100ms or 1m30s", base, error);
}

const struct option_type option_go_duration = {"a duration", option_read_text, go_duration_parse, NULL,
                                               option_done_nothing};

/* --- Users and headers --- */

/* The number of users is limited, because the YAML reader compares each key of a map with all earlier keys. */
#define USERS_MAX 4096
/* Error messages quote user names, so the size of a user name is limited. */
#define USER_NAME_MAX 255

static int user_read(const struct document *document, const yaml_node_t *key, const yaml_node_t *value,
                     struct web_user *ret, struct error *error)
{
    const char *name = node_text(key), *hash = node_is_null(value) ? "" : node_text(value);
    struct error wrong;

    if (strlen(name) > USER_NAME_MAX)
        return document_error(document, key, error, "basic_auth_users: a name is longer than %d bytes", USER_NAME_MAX);
    if (!hash) {
        document_expected(document, value, "a bcrypt hash", error);
        error_prefix(error, "basic_auth_users: user \"%s\"", name);
        return -EINVAL;
    }
    if (bcrypt_check(hash, &wrong) < 0)
        return document_error(document, value, error, "basic_auth_users: user \"%s\": %s", name, wrong.message);
    struct web_user user = {strdup(name), strdup(hash)};
    if (!user.name || !user.hash) {
        free(user.name);
        free(user.hash);
        return error_oom(error);
    }
    *ret = user;
    return 0;
}

static int users_read(const struct option *option, const struct document *document, const yaml_node_t *n, void *base,
                      struct error *error)
{
    size_t before = document_count_errors(document);
    struct web_config *config = base;
    const yaml_node_t *key, *value;
    int r;

    if (n->type != YAML_MAPPING_NODE)
        return option_expected(option, document, n, option->type->name, error);
    for (size_t i = 0; (r = document_pair(document, n, i, &key, &value, error)) != 0; i++) {
        if (i == USERS_MAX)
            return document_error(document, key, error, "%s: more than %d users", option->path, USERS_MAX);
        if (array_grow(&config->users, config->n_users) < 0)
            return error_oom(error);
        if (r > 0)
            r = user_read(document, key, value, &config->users[config->n_users], error);
        config->n_users += r == 0;
        r = document_keep(document, r, error);
        if (r < 0)
            break;
    }
    return document_settle(document, r, before);
}

static void users_done(const struct option *option, void *base)
{
    struct web_config *config = base;

    (void)option;
    for (size_t i = 0; i < config->n_users; i++) {
        free(config->users[i].name);
        free(config->users[i].hash);
    }
    free(config->users);
    config->users = NULL;
    config->n_users = 0;
}

const struct option_type option_users = {"a map of names to bcrypt hashes", users_read, NULL, NULL, users_done};

/* The response headers that can be configured, and their allowed values; NULL allows any value. */
static const struct {
    const char *name, *values[2], *range;
} headers[] = {
    {"Content-Security-Policy", {NULL}, NULL},
    {"Strict-Transport-Security", {NULL}, NULL},
    {"X-Content-Type-Options", {"nosniff"}, "\"nosniff\""},
    {"X-Frame-Options", {"deny", "sameorigin"}, "\"deny\" or \"sameorigin\""},
    {"X-XSS-Protection", {NULL}, NULL},
};

static int header_fail_unknown(const struct document *document, const yaml_node_t *key, struct error *error)
{
    struct suggest suggest = {.wrong = node_text(key)};
    char nearest[128];

    for (size_t i = 0; i < ARRAY_SIZE(headers); i++)
        suggest_consider(&suggest, headers[i].name);
    suggest_format(&suggest, nearest, sizeof(nearest));
    return document_error(document, key, error,
                          "http_server_config.headers: \"%s\" cannot be set; Content-Security-Policy, "
                          "Strict-Transport-Security, X-Content-Type-Options, X-Frame-Options and X-XSS-Protection "
                          "can%s",
                          node_text(key), nearest);
}

static int header_check(size_t i, const struct document *document, const yaml_node_t *value, struct error *error)
{
    const char *text = node_text(value);

    if (!text) {
        document_expected(document, value, "a string", error);
        error_prefix(error, "http_server_config.headers: %s", headers[i].name);
        return -EINVAL;
    }
    if (!headers[i].range || text[0] == '\0')
        return 0;
    for (size_t k = 0; k < ARRAY_SIZE(headers[i].values) && headers[i].values[k]; k++)
        if (str_equal(text, headers[i].values[k]))
            return 0;
    return document_error(document, value, error, "http_server_config.headers: %s: expected %s, found \"%s\"",
                          headers[i].name, headers[i].range, text);
}

static int header_add(struct web_config *config, const char *name, const char *value, struct error *error)
{
    if (array_grow(&config->headers, config->n_headers) < 0)
        return error_oom(error);
    struct web_header header = {strdup(name), strdup(value)};
    if (!header.name || !header.value) {
        free(header.name);
        free(header.value);
        return error_oom(error);
    }
    config->headers[config->n_headers++] = header;
    return 0;
}

static int header_read(const struct document *document, const yaml_node_t *key, const yaml_node_t *value,
                       struct web_config *config, struct error *error)
{
    size_t i = 0;

    while (i < ARRAY_SIZE(headers) && !str_equal(headers[i].name, node_text(key)))
        i++;
    if (i == ARRAY_SIZE(headers))
        return header_fail_unknown(document, key, error);
    if (node_is_null(value))
        return 0;
    int r = header_check(i, document, value, error);
    if (r < 0 || node_text(value)[0] == '\0') /* a header with an empty value is not sent */
        return r;
    return header_add(config, headers[i].name, node_text(value), error);
}

static int headers_read(const struct option *option, const struct document *document, const yaml_node_t *n, void *base,
                        struct error *error)
{
    size_t before = document_count_errors(document);
    const yaml_node_t *key, *value;
    int r;

    if (n->type != YAML_MAPPING_NODE)
        return option_expected(option, document, n, option->type->name, error);
    for (size_t i = 0; (r = document_pair(document, n, i, &key, &value, error)) != 0; i++) {
        if (r > 0)
            r = header_read(document, key, value, base, error);
        r = document_keep(document, r, error);
        if (r < 0)
            break;
    }
    return document_settle(document, r, before);
}

static void headers_done(const struct option *option, void *base)
{
    struct web_config *config = base;

    (void)option;
    for (size_t i = 0; i < config->n_headers; i++) {
        free(config->headers[i].name);
        free(config->headers[i].value);
    }
    free(config->headers);
    config->headers = NULL;
    config->n_headers = 0;
}

const struct option_type option_headers = {"a map", headers_read, NULL, NULL, headers_done};

/* --- Keys --- */

static const struct option_choice client_auths[] = {
    {"NoClientCert", CLIENT_AUTH_NONE},
    {"RequestClientCert", CLIENT_AUTH_REQUEST},
    {"RequireAnyClientCert", CLIENT_AUTH_REQUIRE_ANY},
    {"RequireClientCert", CLIENT_AUTH_REQUIRE_ANY}, /* the old name of RequireAnyClientCert in early exporters */
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

/* The cipher suites that Go's crypto/tls.CipherSuites() returns since Go 1.17, without 3DES. */
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

/* The cipher suites that Go's crypto/tls.InsecureCipherSuites() returns; Prometheus exporters refuse them. */
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
        return error_set(error, -EINVAL, "%s is weak and not supported", text);
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
/* Maximum number of items in a list of names or paths; a large fleet may need many. */
#define MANY 1024

static const struct option web_rows[WEB_OPTIONS] = {
    [WEB_CERT] =
        {
            .path = "tls_server_config.cert",
            MEMBER(pem, tls.cert),
            .range = "PEM, instead of cert_file",
        },
    [WEB_KEY] =
        {
            .path = "tls_server_config.key",
            MEMBER(pem, tls.key),
            .range = "PEM, instead of key_file",
        },
    [WEB_CLIENT_CA] =
        {
            .path = "tls_server_config.client_ca",
            MEMBER(pem, tls.client_ca),
            .range = "PEM, instead of client_ca_file",
        },
    [WEB_CERT_FILE] =
        {
            .path = "tls_server_config.cert_file",
            MEMBER(optional_text, tls.cert_file),
            .range = "a path, relative to the directory of this file",
        },
    [WEB_KEY_FILE] =
        {
            .path = "tls_server_config.key_file",
            MEMBER(optional_text, tls.key_file),
            .range = "a path, relative to the directory of this file",
        },
    [WEB_CLIENT_AUTH_TYPE] =
        {
            .path = "tls_server_config.client_auth_type",
            MEMBER(choice, tls.client_auth),
            .choices = client_auths,
            .range = "NoClientCert, RequestClientCert, RequireAnyClientCert, VerifyClientCertIfGiven or "
                     "RequireAndVerifyClientCert",
        },
    [WEB_CLIENT_CA_FILE] =
        {
            .path = "tls_server_config.client_ca_file",
            MEMBER(optional_text, tls.client_ca_file),
            .range = "a path, relative to the directory of this file",
        },
    [WEB_CLIENT_ALLOWED_SANS] =
        {
            .path = "tls_server_config.client_allowed_sans",
            LIST(tls.client_allowed_sans),
            .min = 1,
            .max = MANY,
            .check = check_san,
            .range = "1 to 1024 DNS names, IP addresses, e-mail addresses or URIs",
        },
    [WEB_MIN_VERSION] =
        {
            .path = "tls_server_config.min_version",
            MEMBER(choice, tls.min_version),
            .choices = tls_versions,
            .range = "TLS10, TLS11, TLS12 or TLS13",
        },
    [WEB_MAX_VERSION] =
        {
            .path = "tls_server_config.max_version",
            MEMBER(choice, tls.max_version),
            .choices = tls_versions,
            .range = "TLS10, TLS11, TLS12 or TLS13",
        },
    [WEB_CIPHER_SUITES] =
        {
            .path = "tls_server_config.cipher_suites",
            LIST(tls.cipher_suites),
            .check = check_cipher_suite,
            .range = "Go's names",
        },
    [WEB_PREFER_SERVER_CIPHER_SUITES] =
        {
            .path = "tls_server_config.prefer_server_cipher_suites",
            MEMBER(yaml11_bool, tls.prefer_server_cipher_suites),
            .range = "true or false",
        },
    [WEB_CURVE_PREFERENCES] =
        {
            .path = "tls_server_config.curve_preferences",
            LIST(tls.curve_preferences),
            .check = check_curve,
            .range = "CurveP256, CurveP384, CurveP521 and X25519",
        },
    [WEB_HTTP2] =
        {
            .path = "http_server_config.http2",
            MEMBER(yaml11_bool, http2),
            .range = "true or false",
        },
    [WEB_HEADERS] =
        {
            .path = "http_server_config.headers",
            .type = &option_headers,
            .range = "Content-Security-Policy, Strict-Transport-Security, X-Content-Type-Options, X-Frame-Options and "
                     "X-XSS-Protection",
        },
    [WEB_USERS] =
        {
            .path = "basic_auth_users",
            .type = &option_users,
            .range = "names, each with a bcrypt hash",
        },
    [WEB_RATE_INTERVAL] =
        {
            .path = "rate_limit.interval",
            MEMBER(go_duration, rate_interval_ns),
            .max = INT64_MAX,
            .range = "0 to 292 years",
        },
    [WEB_RATE_BURST] =
        {
            .path = "rate_limit.burst",
            MEMBER(number, rate_burst),
            .max = INT32_MAX,
            .range = "0 to 2147483647",
        },
    [WEB_AUTH_EXCLUDED_PATHS] =
        {
            .path = "auth_excluded_paths",
            LIST(auth_excluded_paths),
            .max = MANY,
            .check = check_path,
            .range = "at most 1024 paths, each starting with \"/\"",
        },
};

const struct option_table web_options = {
    .rows = web_rows,
    .n = ARRAY_SIZE(web_rows),
    .null_is_absent = true,
};
