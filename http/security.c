/* SPDX-License-Identifier: Apache-2.0 */
/* What connections and requests must satisfy: see security.h. */
#include "http/security.h"

static int load_tls(struct security *security, struct stamps *stamps, struct error *error)
{
    const struct web_tls *tls = &security->config->tls;

    if (!tls->enabled)
        return 0;
    if (stamps_add(stamps, tls->cert_file) < 0 || stamps_add(stamps, tls->key_file) < 0 ||
        stamps_add(stamps, tls->client_ca_file) < 0)
        return error_oom(error);
    return tls_new(tls, &security->tls, error);
}

static void name_file(struct error *error, const char *path)
{
    if (!error)
        return;
    if (error->line)
        error_prefix(error, "%.200s:%u:%u", path, error->line, error->column);
    else
        error_prefix(error, "%.200s", path);
    error->line = error->column = 0;
}

int security_load(const char *path, struct security **ret, struct stamps *ret_stamps, struct error *error)
{
    _cleanup_(security_unrefp) struct security *security = calloc(1, sizeof(*security));
    int r = 0;

    *ret_stamps = (struct stamps){0};
    if (!security)
        return error_oom(error);
    security->references = 1;
    if (path && *path) {
        if (stamps_add(ret_stamps, path) < 0)
            return error_oom(error);
        r = web_config_load(path, &security->config, error);
        if (r == 0)
            r = load_tls(security, ret_stamps, error);
    }
    if (r < 0) {
        name_file(error, path);
        return r;
    }
    *ret = steal(security);
    return 0;
}

struct security *security_ref(struct security *security)
{
    security->references++;
    return security;
}

struct security *security_unref(struct security *security)
{
    if (!security || --security->references > 0)
        return NULL;
    web_config_free(security->config);
    tls_unref(security->tls);
    free(security);
    return NULL;
}
