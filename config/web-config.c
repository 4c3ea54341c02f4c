/* SPDX-License-Identifier: Apache-2.0 */
#include "config/web-config.h"

#include "config/config.h"
#include "config/schema.h"
#include "config/web-keys.h"

static bool has_line_break(const yaml_node_t *n)
{
    return n->type == YAML_SCALAR_NODE && strchr((const char *)n->data.scalar.value, '\n');
}

/*
 * Error messages quote keys, so keys that look like secrets are refused here. In "alice:secret", which lacks the space
 * that YAML requires after the colon, the whole text is the key; if name and hash are swapped, the hash is the key.
 */
static int web_check_key(const struct document *document, const yaml_node_t *key, struct error *error)
{
    const char *text = key->type == YAML_SCALAR_NODE ? (const char *)key->data.scalar.value : "";

    if (strchr(text, ':'))
        return document_error(
            document, key, error,
            "this key contains a colon, which is not allowed in keys and user names; write a space after the colon "
            "that ends a key");
    if (str_starts(text, "$2"))
        return document_error(document, key, error,
                              "this key is a hash: write the user name before the colon, and the hash after it");
    if (has_line_break(key))
        return document_error(document, key, error, "this key contains a line break");
    return 0;
}

static bool is_key_of_pem(const yaml_node_t *key)
{
    const char *text = node_text(key);

    for (size_t i = 0; i < web_options.n; i++)
        if (web_options.rows[i].type == &option_pem && text &&
            str_equal(strrchr(web_options.rows[i].path, '.') + 1, text))
            return true;
    return false;
}

static const yaml_node_t *web_node(const struct document *document, int id)
{
    return yaml_document_get_node((yaml_document_t *)&document->tree, id);
}

static int web_check_map(const struct document *document, const yaml_node_t *map, struct error *error)
{
    const yaml_node_pair_t *pairs = map->data.mapping.pairs.start, *end = map->data.mapping.pairs.top;
    int r = 0;

    for (const yaml_node_pair_t *pair = pairs; pair < end && r == 0; pair++) {
        const yaml_node_t *key = web_node(document, pair->key), *value = web_node(document, pair->value);
        r = web_check_key(document, key, error);
        if (r == 0 && has_line_break(value) && !is_key_of_pem(key))
            r = document_error(document, value, error, "%s: this string contains a line break: write it on one line",
                               node_text(key) ? node_text(key) : "");
    }
    return r;
}

/*
 * Checks that no key looks like a secret and that only PEM text has line breaks. Must be called before any error
 * message quotes the file.
 */
static int web_check_texts(const struct document *document, struct error *error)
{
    const yaml_node_t *item;
    int r = 0;

    for (const yaml_node_t *n = document->tree.nodes.start; n < document->tree.nodes.top && r == 0; n++) {
        if (n->type == YAML_MAPPING_NODE)
            r = web_check_map(document, n, error);
        for (size_t i = 0; r == 0 && n->type == YAML_SEQUENCE_NODE && (item = document_item(document, n, i)); i++)
            if (has_line_break(item))
                r = document_error(document, item, error, "this string contains a line break: write it on one line");
    }
    return r;
}

struct web_reading {
    const struct document *document;
    const yaml_node_t *nodes[WEB_OPTIONS];
    struct error *error;
};

static bool row_is_given(const struct web_reading *reading, int row)
{
    const yaml_node_t *n = reading->nodes[row];

    return n && !(n->type == YAML_SCALAR_NODE && n->data.scalar.value[0] == '\0');
}

/* Returns the first row, from `begin` to `end` - 1, whose key has a value in the file, or -1 if there is none. */
static int first_given(const struct web_reading *reading, int begin, int end)
{
    for (int row = begin; row < end; row++)
        if (row_is_given(reading, row))
            return row;
    return -1;
}

/* Sets an error message with the row's key and the position of the key's value, and returns -EINVAL. */
static int web_fail_at(const struct web_reading *reading, int row, const char *sentence)
{
    return document_error(reading->document, reading->nodes[row], reading->error, "%s: %s", web_options.rows[row].path,
                          sentence);
}

/*
 * Pairs of keys for the same value: the value of one key is the PEM text itself, and that of the other is a file name.
 */
static const struct {
    int text, file;
    const char *sentence;
} either[] = {
    {WEB_CERT, WEB_CERT_FILE, "cert_file is given as well; remove one of them"},
    {WEB_KEY, WEB_KEY_FILE, "key_file is given as well; remove one of them"},
    {WEB_CLIENT_CA, WEB_CLIENT_CA_FILE, "client_ca_file is given as well; remove one of them"},
};

/* Returns the row of that key of the pair `either[i]` that has a value in the file, or -1 if neither has one. */
static int given_of(const struct web_reading *reading, size_t i)
{
    return row_is_given(reading, either[i].text)   ? either[i].text
           : row_is_given(reading, either[i].file) ? either[i].file
                                                   : -1;
}

static int web_check_certificate(const struct web_reading *reading)
{
    int cert = given_of(reading, 0), key = given_of(reading, 1);

    for (size_t i = 0; i < ARRAY_SIZE(either); i++)
        if (row_is_given(reading, either[i].text) && row_is_given(reading, either[i].file))
            return web_fail_at(reading, either[i].text, either[i].sentence);
    if (cert < 0 && key < 0)
        return web_fail_at(
            reading, first_given(reading, 0, WEB_TLS_OPTIONS),
            "TLS needs a certificate and its key: set cert_file and key_file, or leave out tls_server_config to "
            "serve plain HTTP");
    if (key < 0)
        return web_fail_at(reading, cert, "the certificate has no key: set key_file");
    return cert < 0 ? web_fail_at(reading, key, "the key has no certificate: set cert_file") : 0;
}

static int web_check_client_auth(const struct web_reading *reading, const struct web_tls *tls)
{
    int ca = given_of(reading, 2);
    bool required = tls->client_auth == CLIENT_AUTH_REQUIRE_ANY || tls->client_auth == CLIENT_AUTH_REQUIRE_AND_VERIFY;

    if (ca >= 0 && tls->client_auth == CLIENT_AUTH_NONE)
        return web_fail_at(
            reading, ca,
            "no client is asked for a certificate: set client_auth_type, for example to RequireAndVerifyClientCert");
    if (row_is_given(reading, WEB_CLIENT_ALLOWED_SANS) && !required)
        return web_fail_at(reading, WEB_CLIENT_ALLOWED_SANS,
                           "clients need no certificate: set client_auth_type to RequireAndVerifyClientCert or "
                           "RequireAnyClientCert");
    return 0;
}

/* A section tls_server_config whose values are all blank does not enable TLS. */
static int web_check_tls(const struct web_reading *reading, struct web_tls *tls)
{
    if (first_given(reading, 0, WEB_TLS_OPTIONS) < 0)
        return 0;
    int r = web_check_certificate(reading);
    if (r == 0)
        r = web_check_client_auth(reading, tls);
    if (r == 0 && tls->min_version > tls->max_version)
        r = web_fail_at(reading, row_is_given(reading, WEB_MAX_VERSION) ? WEB_MAX_VERSION : WEB_MIN_VERSION,
                        "max_version is below min_version, which is TLS12 by default");
    tls->enabled = r == 0;
    return r;
}

static int web_check_rate(const struct web_reading *reading, const struct web_config *config)
{
    if (config->rate_interval_ns == 0 || config->rate_burst > 0)
        return 0;
    return web_fail_at(reading, row_is_given(reading, WEB_RATE_BURST) ? WEB_RATE_BURST : WEB_RATE_INTERVAL,
                       "with a burst of 0 every request would be refused: set burst to 1 or more");
}

static int web_read_document(const struct document *document, struct web_config *config, struct error *error)
{
    struct web_reading reading = {.document = document, .error = error};
    const yaml_node_t *root = document_root(document);

    if (!root)
        return 0;
    if (root->type != YAML_MAPPING_NODE)
        return document_expected(document, root, "a map with keys such as \"tls_server_config\"", error);
    int r = web_check_texts(document, error);
    if (r == 0)
        r = option_table_read(&web_options, document, root, config, reading.nodes, error);
    /*
     * If errors were collected, the keys are not checked against each other, because the defaults that replaced invalid
     * values may contradict other values.
     */
    if (r == 0)
        r = document_keep(document, web_check_tls(&reading, &config->tls), error);
    return r < 0 ? r : document_keep(document, web_check_rate(&reading, config), error);
}

static int path_join(const char *directory, char **path, struct error *error)
{
    char *joined = *path ? config_join_path(directory, *path) : NULL;

    if (*path && !joined)
        return error_oom(error);
    free(*path);
    *path = joined;
    return 0;
}

static int web_join_paths(const char *directory, struct web_tls *tls, struct error *error)
{
    int r = path_join(directory, &tls->cert_file, error);

    if (r == 0)
        r = path_join(directory, &tls->key_file, error);
    return r < 0 ? r : path_join(directory, &tls->client_ca_file, error);
}

/*
 * If `errors` is not NULL, reading continues after an invalid value, and the error is added to `errors`. If `errors` is
 * NULL, the first error is returned.
 */
static int web_config_parse_all(const char *text, size_t size, const char *directory, struct error_list *errors,
                                struct web_config **ret, struct error *error)
{
    _cleanup_(document_done) struct document document = {0};
    _cleanup_(web_config_freep) struct web_config *config = calloc(1, sizeof(*config));

    if (!config)
        return error_oom(error);
    config->tls = (struct web_tls){
        .min_version = TLS_VERSION_1_2,
        .max_version = TLS_VERSION_1_3,
        .prefer_server_cipher_suites = true,
    };
    int r = document_parse_secret(text, size, &document, error);
    document.errors = errors;
    if (r == 0)
        r = document_keep(&document, web_read_document(&document, config, error), error);
    if (r == 0)
        r = web_join_paths(directory, &config->tls, error);
    if (r < 0)
        return r;
    *ret = steal(config);
    return 0;
}

int web_config_parse(const char *text, size_t size, const char *directory, struct web_config **ret, struct error *error)
{
    return web_config_parse_all(text, size, directory, NULL, ret, error);
}

int web_config_load(const struct file_opener *opener, const char *path, struct error_list *errors,
                    struct web_config **ret, struct error *error)
{
    _cleanup_(web_config_freep) struct web_config *config = NULL;
    _cleanup_(freep) char *text = NULL, *directory = config_directory_of(path);
    size_t size;
    int r = directory ? config_read_file(opener, path, &text, &size, error) : error_oom(error);

    if (r < 0)
        return r;
    r = web_config_parse_all(text, size, directory, errors, &config, error);
    explicit_bzero(text, size);
    if (r < 0)
        return r;
    config->blank = size == 0;
    config->file = strdup(path);
    if (!config->file)
        return error_oom(error);
    *ret = steal(config);
    return 0;
}

struct web_config *web_config_free(struct web_config *config)
{
    if (!config)
        return NULL;
    for (size_t i = 0; i < web_options.n; i++)
        web_options.rows[i].type->done(&web_options.rows[i], config);
    free(config->file);
    free(config);
    return NULL;
}
