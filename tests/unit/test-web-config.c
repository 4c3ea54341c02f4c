/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The exporters' web configuration: each tests/web-config/NAME.good.yml is taken, each NAME.bad.yml gives the error in
 * NAME.bad.error. Then what the good ones say, and what no fixture can hold.
 */
#include <fcntl.h>
#include <sys/stat.h>

#include "base/buffer.h"
#include "base/file.h"
#include "config/config.h"
#include "config/web-config.h"
#include "config/web-options.h"
#include "tests/unit/fixture.h"
#include "tests/unit/test.h"

#define DIGEST "abcdefghijklmnopqrstuuABCDEFGHIJKLMNOPQRSTUVWXYZ01234"

#define FIXTURES "tests/web-config/"

static struct web_config *load_path(const char *path)
{
    struct web_config *config = NULL;
    struct error error = {0};

    if (web_config_load(NULL, path, &config, &error) < 0)
        fail_msg("%s:%u:%u: %s", path, error.line, error.column, error.message);
    assert_string_equal(config->file, path);
    return config;
}

static struct web_config *load(const char *name)
{
    char file[256], path[512];

    snprintf(file, sizeof(file), FIXTURES "%s", name);
    return load_path(fixture_path(file, path));
}

static void check_good(const char *path)
{
    web_config_free(load_path(path));
}

static void test_good_files(void **state)
{
    (void)state;
    assert_true(fixture_each(FIXTURES "*.good.yml", check_good) >= 20);
}

static int load_bad(const char *path, struct error *error)
{
    struct web_config *config = NULL;
    int r = web_config_load(NULL, path, &config, error);

    assert_true(r == 0 || !config);
    web_config_free(config);
    /* The password and the start of the digest of all fixtures. */
    assert_false(error && strstr(error->message, "hunter2"));
    assert_false(error && strstr(error->message, "abcdefgh"));
    return r;
}

static void check_bad(const char *path)
{
    fixture_refused(path, load_bad);
}

static void test_bad_files(void **state)
{
    (void)state;
    assert_true(fixture_each(FIXTURES "*.bad.yml", check_bad) >= 80);
}

static void assert_texts(const struct text_list *texts, size_t n, const char *first, const char *last)
{
    assert_int_equal(texts->n, n);
    if (n == 0)
        return;
    assert_string_equal(texts->items[0], first);
    assert_string_equal(texts->items[n - 1], last);
}

static void test_defaults(void **state)
{
    (void)state;
    static const char *const names[] = {"empty.good.yml", "null.good.yml", "null-sections.good.yml",
                                        "tls-empty.good.yml", "tls-blank.good.yml"};

    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        _cleanup_(web_config_freep) struct web_config *config = load(names[i]);
        assert_false(config->tls.enabled);
        assert_null(config->tls.cert_file);
        assert_null(config->tls.key);
        assert_int_equal(config->tls.client_auth, CLIENT_AUTH_NONE);
        assert_int_equal(config->tls.min_version, TLS_VERSION_1_2);
        assert_int_equal(config->tls.max_version, TLS_VERSION_1_3);
        assert_true(config->tls.prefer_server_cipher_suites);
        assert_int_equal(config->n_users, 0);
        assert_int_equal(config->n_headers, 0);
        assert_int_equal(config->auth_excluded_paths.n, 0);
        assert_int_equal(config->rate_interval_ns, 0);
        assert_false(config->http2);
    }
}

static void test_node_exporter(void **state)
{
    (void)state;
    _cleanup_(web_config_freep) struct web_config *config = load("node-exporter.good.yml");

    assert_true(config->tls.enabled);
    assert_string_equal(config->tls.cert_file, "/etc/node_exporter/tls/node.crt");
    assert_string_equal(config->tls.key_file, "/etc/node_exporter/tls/node.key");
    assert_string_equal(config->tls.client_ca_file, "/etc/node_exporter/tls/ca.crt");
    assert_int_equal(config->tls.client_auth, CLIENT_AUTH_REQUIRE_AND_VERIFY);
    assert_texts(&config->tls.cipher_suites, 2, "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384",
                 "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256");
    assert_texts(&config->tls.curve_preferences, 1, "CurveP256", "CurveP256");
    assert_true(config->tls.prefer_server_cipher_suites);
    assert_true(config->http2);
    assert_int_equal(config->n_headers, 2);
    assert_string_equal(config->headers[0].name, "X-Frame-Options");
    assert_string_equal(config->headers[0].value, "deny");
    assert_int_equal(config->n_users, 1);
    assert_string_equal(config->users[0].name, "prometheus");
    assert_string_equal(config->users[0].hash, "$2y$12$" DIGEST);
}

static void test_client_auth(void **state)
{
    (void)state;
    static const struct {
        const char *in;
        enum client_auth out;
    } cases[] = {
        {"NoClientCert", CLIENT_AUTH_NONE},
        {"RequestClientCert", CLIENT_AUTH_REQUEST},
        {"RequireAnyClientCert", CLIENT_AUTH_REQUIRE_ANY},
        {"RequireClientCert", CLIENT_AUTH_REQUIRE_ANY},
        {"VerifyClientCertIfGiven", CLIENT_AUTH_VERIFY_IF_GIVEN},
        {"RequireAndVerifyClientCert", CLIENT_AUTH_REQUIRE_AND_VERIFY},
        {"\"\"", CLIENT_AUTH_NONE},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        char text[256];
        _cleanup_(web_config_freep) struct web_config *config = NULL;
        snprintf(text, sizeof(text), "tls_server_config: {cert_file: a, key_file: b, client_auth_type: %s}",
                 cases[i].in);
        assert_int_equal(web_config_parse(text, strlen(text), ".", &config, NULL), 0);
        assert_int_equal(config->tls.client_auth, cases[i].out);
    }
}

static void test_tls(void **state)
{
    (void)state;
    _cleanup_(web_config_freep) struct web_config *auth = load("tls-client-auth.good.yml"),
                                                  *versions = load("tls-versions.good.yml"),
                                                  *ciphers = load("tls-ciphers.good.yml"),
                                                  *curves = load("tls-curves.good.yml"),
                                                  *texts = load("tls-inline.good.yml");

    assert_texts(&auth->tls.client_allowed_sans, 4, "scraper.example", "ops@example.org");
    assert_int_equal(versions->tls.min_version, TLS_VERSION_1_0);
    assert_int_equal(versions->tls.max_version, TLS_VERSION_1_1);
    assert_texts(&ciphers->tls.cipher_suites, 17, "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256",
                 "TLS_RSA_WITH_AES_256_GCM_SHA384");
    assert_false(ciphers->tls.prefer_server_cipher_suites);
    assert_texts(&curves->tls.curve_preferences, 4, "X25519", "CurveP256");
    assert_true(texts->tls.enabled);
    assert_null(texts->tls.cert_file);
    assert_string_equal(texts->tls.cert, "-----BEGIN CERTIFICATE-----\nbm90IGEgY2VydGlmaWNhdGU=\n"
                                         "-----END CERTIFICATE-----\n");
    assert_string_equal(texts->tls.key, "-----BEGIN PRIVATE KEY-----\nbm90IGEga2V5\n-----END PRIVATE KEY-----\n");
    assert_string_equal(texts->tls.client_ca, "Subject: CN = somebody\n-----BEGIN CERTIFICATE-----\nbm90IGEgQ0E=\n"
                                              "-----END CERTIFICATE-----");
}

static void test_paths(void **state)
{
    (void)state;
    static const struct {
        const char *directory, *in, *out;
    } cases[] = {
        {"/etc/x", "a.crt", "/etc/x/a.crt"},
        {"/etc/x", "../a.crt", "/etc/x/../a.crt"},
        {"/etc/x", "/a.crt", "/a.crt"},
        {"/", "a.crt", "/a.crt"},
        {".", "a.crt", "a.crt"},
        {"", "a.crt", "a.crt"},
        {"x", "a.crt", "x/a.crt"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        char text[256];
        _cleanup_(web_config_freep) struct web_config *config = NULL;
        snprintf(text, sizeof(text),
                 "tls_server_config: {cert_file: '%s', key_file: k, client_auth_type: RequestClientCert, "
                 "client_ca_file: '%s'}",
                 cases[i].in, cases[i].in);
        assert_int_equal(web_config_parse(text, strlen(text), cases[i].directory, &config, NULL), 0);
        assert_string_equal(config->tls.cert_file, cases[i].out);
        assert_string_equal(config->tls.client_ca_file, cases[i].out);
        assert_null(config->file);
    }
    _cleanup_(web_config_freep) struct web_config *config = load("tls-files.good.yml");
    char beside[512];
    assert_string_equal(config->tls.key_file, fixture_path(FIXTURES "server.key", beside));
}

static void test_http(void **state)
{
    (void)state;
    _cleanup_(web_config_freep) struct web_config *headers = load("headers.good.yml"),
                                                  *blank = load("headers-blank.good.yml"),
                                                  *http2 = load("http2.good.yml"), *off = load("http2-off.good.yml"),
                                                  *users = load("users.good.yml"),
                                                  *paths = load("excluded-paths.good.yml");

    assert_int_equal(headers->n_headers, 5);
    assert_string_equal(headers->headers[3].name, "X-XSS-Protection");
    assert_string_equal(headers->headers[3].value, "1");
    assert_string_equal(headers->headers[4].value, "default-src 'self' *.example");
    assert_int_equal(blank->n_headers, 0);
    assert_true(http2->http2);
    assert_false(off->http2);
    assert_int_equal(users->n_users, 4);
    assert_string_equal(users->users[2].name, "carol");
    assert_string_equal(users->users[2].hash, "$2a$04$" DIGEST);
    assert_string_equal(users->users[3].name, "1234");
    assert_texts(&paths->auth_excluded_paths, 2, "/-/healthy", "/");
}

static const struct {
    const char *in;
    uint64_t out; /* UINT64_MAX: an error */
} rates[] = {
    {"0", 0},
    {"0s", 0},
    {"1s", NSEC_PER_SEC},
    {"\"1s\"", NSEC_PER_SEC},
    {"1000", 1000},
    {"100ms", 100 * NSEC_PER_MSEC},
    {"1.5h", 5400 * NSEC_PER_SEC},
    {"1h1m1s1ms1us1ns", 3661 * NSEC_PER_SEC + 1001001},
    {"1µs", 1000},
    {"1.5μs", 1500},
    {"2s1m", 62 * NSEC_PER_SEC},
    {"s", UINT64_MAX},
    {"1", 1},
    {"1s1", UINT64_MAX},
    {"1d", UINT64_MAX},
    {"1 s", UINT64_MAX},
    {"-1s", UINT64_MAX},
    {"+1s", UINT64_MAX},
    {"1µ", UINT64_MAX},
    {"9223372036854775807ns", INT64_MAX},
    {"9223372036854775808ns", UINT64_MAX},
    {"5000000h5000000h", UINT64_MAX},
    {"99999999999999999999999999999999999999999999999999999999999999999999s", UINT64_MAX},
    {"\"\"", UINT64_MAX},
    {"null", 0},
};

static void test_rate(void **state)
{
    (void)state;

    for (size_t i = 0; i < ARRAY_SIZE(rates); i++) {
        char text[256];
        _cleanup_(web_config_freep) struct web_config *config = NULL;
        snprintf(text, sizeof(text), "rate_limit: {interval: %s, burst: 3}", rates[i].in);
        int r = web_config_parse(text, strlen(text), ".", &config, NULL);
        if (r != (rates[i].out == UINT64_MAX ? -EINVAL : 0) || (r == 0 && config->rate_interval_ns != rates[i].out))
            fail_msg("%s: %d", text, r);
        assert_true(r < 0 || config->rate_burst == 3);
    }
}

/* `n` users, each in a line. */
static char *many_users(size_t n)
{
    struct buffer buffer = {0};

    buffer_append_text(&buffer, "basic_auth_users:\n");
    for (size_t i = 0; i < n; i++)
        buffer_appendf(&buffer, "  user%zu: $2y$10$" DIGEST "\n", i);
    return buffer_string(&buffer);
}

static void test_many(void **state)
{
    (void)state;
    _cleanup_(web_config_freep) struct web_config *config = NULL, *none = NULL;
    _cleanup_(freep) char *most = many_users(4096), *more = many_users(13000);
    struct error error = {0};

    assert_int_equal(web_config_parse(most, strlen(most), ".", &config, NULL), 0);
    assert_int_equal(config->n_users, 4096);
    assert_true(strlen(more) < CONFIG_FILE_MAX && strlen(more) > CONFIG_FILE_MAX * 8 / 10);
    assert_int_equal(web_config_parse(more, strlen(more), ".", &none, &error), -EINVAL);
    assert_string_equal(error.message, "basic_auth_users: more than 4096 users");
    assert_int_equal(error.line, 4098);
}

/* A certificate of nearly the size that a file may have. */
static void test_large_text(void **state)
{
    (void)state;
    _cleanup_(web_config_freep) struct web_config *config = NULL;
    struct buffer buffer = {0};

    buffer_append_text(&buffer, "tls_server_config:\n  key_file: k\n  cert: |\n    -----BEGIN CERTIFICATE-----\n");
    while (buffer.size < CONFIG_FILE_MAX - 100)
        buffer_append_text(&buffer, "    QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVphYmNkZWZnaGlqa2xtbm9wcXJzdHV2\n");
    _cleanup_(freep) char *text = buffer_string(&buffer);
    assert_int_equal(web_config_parse(text, strlen(text), ".", &config, NULL), 0);
    assert_true(strlen(config->tls.cert) > CONFIG_FILE_MAX * 9 / 10);
}

static void assert_load_error(const char *path, int code, const char *message)
{
    struct web_config *config = NULL;
    struct error error = {0};

    assert_int_equal(web_config_load(NULL, path, &config, &error), code);
    assert_string_equal(error.message, message);
    assert_int_equal(error.line, 0);
    assert_null(config);
}

static void test_odd_files(void **state)
{
    (void)state;
    char directory[] = "/tmp/test-web-config-XXXXXX", path[64];

    assert_non_null(mkdtemp(directory));
    snprintf(path, sizeof(path), "%s/f", directory);
    assert_load_error(path, -ENOENT, "there is no such file");
    assert_load_error(directory, -EISDIR, "this is a directory, but a file is expected");
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_load_error(path, -ESPIPE, "this is a pipe or socket, but a file is expected");
    unlink(path);
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0);
    assert_int_equal(ftruncate(fd, CONFIG_FILE_MAX + 1), 0);
    close(fd);
    if (geteuid() != 0)
        assert_load_error(path, -EACCES, "permission denied: this user may not read the file");
    chmod(path, 0600);
    assert_load_error(path, -EFBIG, "the file is larger than 1 MiB, which is too large for a configuration");
    unlink(path);
    rmdir(directory);
}

/* The page has each key, and its literal blocks that begin with one of our maps are files that are taken. */
static void test_manual(void **state)
{
    (void)state;
    static const char begin[] = "\n.Bd -literal -offset indent\n", end[] = "\n.Ed\n";
    _cleanup_(freep) char *manual = fixture_read("doc/perfcountd.yaml.5");
    char heading[128];
    unsigned n = 0;

    for (size_t i = 0; i < web_options.n; i++) {
        snprintf(heading, sizeof(heading), "\n.It Ic %s\n", web_options.rows[i].path);
        if (!strstr(manual, heading))
            fail_msg("perfcountd.yaml.5 has no \".It Ic %s\"", web_options.rows[i].path);
    }
    for (const char *block = manual; (block = strstr(block, begin));) {
        _cleanup_(web_config_freep) struct web_config *config = NULL;
        struct error error = {0};
        block += strlen(begin);
        if (!str_starts(block, "tls_server_config:\n"))
            continue;
        if (web_config_parse(block, (size_t)(strstr(block, end) - block), ".", &config, &error) < 0)
            fail_msg("%u:%u: %s", error.line, error.column, error.message);
        n++;
    }
    assert_true(n >= 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good_files),    cmocka_unit_test(test_bad_files),   cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_node_exporter), cmocka_unit_test(test_client_auth), cmocka_unit_test(test_tls),
        cmocka_unit_test(test_paths),         cmocka_unit_test(test_http),        cmocka_unit_test(test_rate),
        cmocka_unit_test(test_many),          cmocka_unit_test(test_large_text),  cmocka_unit_test(test_odd_files),
        cmocka_unit_test(test_manual),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
