/* SPDX-License-Identifier: Apache-2.0 */
/* The exporters' web configuration: tables of accepted and refused files, and cases that do not fit into a table. */
#include <unistd.h>

#include "base/buffer.h"
#include "base/error.h"
#include "config/config.h"
#include "config/web-config.h"
#include "tests/unit/test.h"
#include "tests/unit/testdata.h"

#define DIGEST "abcdefghijklmnopqrstuuABCDEFGHIJKLMNOPQRSTUVWXYZ01234"

static int load(const char *path, struct error_list *errors, struct error *error)
{
    struct web_config *config = NULL;
    int r = web_config_load(NULL, path, errors, &config, error);

    assert_true(r == 0 || !config);
    web_config_free(config);
    /* Errors contain neither the password nor the start of the hash that all tables use. */
    assert_false(error && strstr(error->message, "hunter2"));
    assert_false(error && strstr(error->message, "abcdefgh"));
    return r;
}

static void check_refused(const struct testdata_case *test)
{
    assert_null(strstr(test->expected, "hunter2"));
    assert_null(strstr(test->expected, "abcdefgh"));
    testdata_refused(test, load);
}

TEST(test_refused)
{
    testdata_cases("tests/web-config/errors.txt", check_refused);
}

/* Returns the list as JSON, or NULL if it is empty. */
static json_t *texts(const struct text_list *list)
{
    json_t *array = list->n ? json_array() : NULL;

    for (size_t i = 0; i < list->n; i++)
        json_array_append_new(array, json_string(list->items[i]));
    return array;
}

static json_t *number(uint64_t value)
{
    return value ? json_integer((json_int_t)value) : NULL;
}

static json_t *flag(bool value, bool fallback)
{
    return value == fallback ? NULL : json_boolean(value);
}

static json_t *name(const char *const names[], unsigned value, unsigned fallback)
{
    return value == fallback ? NULL : json_string(names[value]);
}

/* Returns the settings that differ from the default. json_object_set_new() ignores NULL values. */
static json_t *as_json(const struct web_config *config)
{
    static const char *const auths[] = {"none", "request", "require_any", "verify_if_given", "require_and_verify"};
    static const char *const versions[] = {"TLS 1.0", "TLS 1.1", "TLS 1.2", "TLS 1.3"};
    const struct web_tls *tls = &config->tls;
    json_t *json = json_object(), *users = config->n_users ? json_object() : NULL,
           *headers = config->n_headers ? json_object() : NULL;

    for (size_t i = 0; i < config->n_users; i++)
        json_object_set_new(users, config->users[i].name, json_string(config->users[i].hash));
    for (size_t i = 0; i < config->n_headers; i++)
        json_object_set_new(headers, config->headers[i].name, json_string(config->headers[i].value));
    json_object_set_new(json, "tls", flag(tls->enabled, false));
    json_object_set_new(json, "cert_file", json_string(tls->cert_file));
    json_object_set_new(json, "key_file", json_string(tls->key_file));
    json_object_set_new(json, "client_ca_file", json_string(tls->client_ca_file));
    json_object_set_new(json, "cert", json_string(tls->cert));
    json_object_set_new(json, "key", json_string(tls->key));
    json_object_set_new(json, "client_ca", json_string(tls->client_ca));
    json_object_set_new(json, "client_auth", name(auths, tls->client_auth, CLIENT_AUTH_NONE));
    json_object_set_new(json, "client_allowed_sans", texts(&tls->client_allowed_sans));
    json_object_set_new(json, "min_version", name(versions, tls->min_version, TLS_VERSION_1_2));
    json_object_set_new(json, "max_version", name(versions, tls->max_version, TLS_VERSION_1_3));
    json_object_set_new(json, "cipher_suites", texts(&tls->cipher_suites));
    json_object_set_new(json, "prefer_server_cipher_suites", flag(tls->prefer_server_cipher_suites, true));
    json_object_set_new(json, "curve_preferences", texts(&tls->curve_preferences));
    json_object_set_new(json, "users", users);
    json_object_set_new(json, "headers", headers);
    json_object_set_new(json, "auth_excluded_paths", texts(&config->auth_excluded_paths));
    json_object_set_new(json, "rate_interval_ns", number(config->rate_interval_ns));
    json_object_set_new(json, "rate_burst", number(config->rate_burst));
    json_object_set_new(json, "http2", flag(config->http2, false));
    return json;
}

static void check_accepted(const struct testdata_case *test)
{
    _cleanup_(web_config_freep) struct web_config *config = NULL;
    struct error error = {0};

    if (web_config_parse(test->input, test->size, "/etc/x", &config, &error) < 0)
        fail_msg("%s: %u:%u: %s", test->name, error.line, error.column, error.message);
    _cleanup_(json_decrefp) json_t *json = as_json(config), *expected = json_loads(test->expected, 0, NULL);
    _cleanup_(freep) char *text = json_dumps(json, JSON_INDENT(2));
    if (!json_equal(json, expected))
        fail_msg("%s gives\n%s\nexpected\n%s", test->name, text, test->expected);
}

TEST(test_accepted)
{
    testdata_cases("tests/web-config/accepted.txt", check_accepted);
}

TEST(test_paths)
{
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

TEST(test_rate)
{
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

/* Returns a configuration with `n` users, one per line. */
static char *many_users(size_t n)
{
    struct buffer buffer = {0};

    buffer_append_text(&buffer, "basic_auth_users:\n");
    for (size_t i = 0; i < n; i++)
        buffer_appendf(&buffer, "  user%zu: $2y$10$" DIGEST "\n", i);
    return buffer_string(&buffer);
}

TEST(test_many_users)
{
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

TEST(test_long_name)
{
    static const struct {
        int in_size, out;
    } cases[] = {{255, 0}, {256, -EINVAL}};

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _cleanup_(web_config_freep) struct web_config *config = NULL;
        struct error error = {0};
        char text[512];
        int size = snprintf(text, sizeof(text), "basic_auth_users: {%0*d: $2y$10$" DIGEST "}", cases[i].in_size, 0);
        assert_int_equal(web_config_parse(text, (size_t)size, ".", &config, &error), cases[i].out);
        assert_string_equal(error.message, cases[i].out ? "basic_auth_users: a name is longer than 255 bytes" : "");
    }
}

/* A certificate that is almost as large as a file may be. */
TEST(test_large_text)
{
    _cleanup_(web_config_freep) struct web_config *config = NULL;
    struct buffer buffer = {0};

    buffer_append_text(&buffer, "tls_server_config:\n  key_file: k\n  cert: |\n    -----BEGIN CERTIFICATE-----\n");
    while (buffer.size < CONFIG_FILE_MAX - 100)
        buffer_append_text(&buffer, "    QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVphYmNkZWZnaGlqa2xtbm9wcXJzdHV2\n");
    _cleanup_(freep) char *text = buffer_string(&buffer);
    assert_int_equal(web_config_parse(text, strlen(text), ".", &config, NULL), 0);
    assert_true(strlen(config->tls.cert) > CONFIG_FILE_MAX * 9 / 10);
}

/* A path in the file is relative to the file's directory. */
TEST(test_file)
{
    char path[] = "/tmp/test-web-config-XXXXXX";
    _cleanup_(web_config_freep) struct web_config *config = NULL, *none = NULL;
    struct error error = {0};
    int fd = mkstemp(path);

    dprintf(fd, "tls_server_config: {cert_file: server.crt, key_file: server.key}\n");
    close(fd);
    assert_int_equal(web_config_load(NULL, path, NULL, &config, NULL), 0);
    assert_string_equal(config->file, path);
    assert_string_equal(config->tls.key_file, "/tmp/server.key");
    unlink(path);
    assert_int_equal(web_config_load(NULL, path, NULL, &none, &error), -ENOENT);
    assert_string_equal(error.message, "there is no such file");
    assert_null(none);
}

TEST_MAIN(NULL, NULL)
