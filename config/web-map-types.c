/* SPDX-License-Identifier: Apache-2.0 */
/* The two maps of the web configuration whose keys the operator chooses: users and headers. */
#include "base/suggest.h"
#include "config/bcrypt.h"
#include "config/option-types.h"
#include "config/web-option-types.h"
#include "config/web-values.h"

/* A document compares each key with all earlier ones. */
#define USERS_MAX 4096
/* The sentence about a user needs room for more than the name. */
#define USER_NAME_MAX 255

static int user_read(const struct document *document, const yaml_node_t *key, const yaml_node_t *value,
                     struct web_user *ret, struct error *error)
{
    const char *name = node_text(key), *hash = node_is_null(value) ? "" : node_text(value);
    struct error wrong;

    if (strlen(name) > USER_NAME_MAX)
        return document_error(document, key, error, "basic_auth_users: a name has more than %d bytes", USER_NAME_MAX);
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

/* The headers that can be set, and their values where only some are allowed. */
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
        document_expected(document, value, "a text", error);
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
    if (r < 0 || node_text(value)[0] == '\0') /* a blank header is not sent */
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
