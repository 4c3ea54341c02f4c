/* SPDX-License-Identifier: Apache-2.0 */
#include "http/security.h"

#include <assert.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "http/password.h"

/* --- file versions --- */

static int file_status(const struct file_opener *opener, const char *path, struct stat *ret)
{
    if (stat(path, ret) == 0)
        return 0;
    if (errno != EACCES || !opener)
        return -errno;
    _cleanup_(closep) int fd = file_open(opener, path);
    return fd < 0 ? fd : fstat(fd, ret) < 0 ? -errno : 0;
}

static struct file_version file_version_now(const struct file_opener *opener, char *path)
{
    struct file_version version = {.path = path};
    struct stat status;

    int r = file_status(opener, path, &status);
    if (r < 0) {
        version.error = -r;
        return version;
    }
    version.device = status.st_dev;
    version.inode = status.st_ino;
    version.size = status.st_size;
    version.modified = status.st_mtim;
    version.changed = status.st_ctim;
    return version;
}

static bool same_time(const struct timespec *a, const struct timespec *b)
{
    return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

static bool file_version_same(const struct file_version *a, const struct file_version *b)
{
    return a->error == b->error && a->device == b->device && a->inode == b->inode && a->size == b->size &&
           same_time(&a->modified, &b->modified) && same_time(&a->changed, &b->changed);
}

/*
 * Records the version of a file, unless `path` is NULL. Must be called before the file is read, so that no change is
 * missed. Returns -ENOMEM on failure.
 */
static int file_versions_add(struct file_versions *versions, const char *path)
{
    if (!path)
        return 0;
    char *copy = strdup(path);
    if (!copy)
        return -ENOMEM;
    assert(versions->n < FILE_VERSIONS_MAX);
    versions->items[versions->n++] = file_version_now(versions->opener, copy);
    return 0;
}

bool file_versions_changed(const struct file_versions *versions)
{
    for (size_t i = 0; i < versions->n; i++) {
        struct file_version now = file_version_now(versions->opener, versions->items[i].path);
        if (!file_version_same(&versions->items[i], &now))
            return true;
    }
    return false;
}

void file_versions_done(struct file_versions *versions)
{
    for (size_t i = 0; i < versions->n; i++)
        free(versions->items[i].path);
    *versions = (struct file_versions){0};
}

/* --- settings --- */

static int load_tls(struct security *security, struct file_versions *versions, struct error *error)
{
    const struct web_tls *tls = &security->config->tls;

    if (!tls->enabled)
        return 0;
    if (file_versions_add(versions, tls->cert_file) < 0 || file_versions_add(versions, tls->key_file) < 0 ||
        file_versions_add(versions, tls->client_ca_file) < 0)
        return error_oom(error);
    return tls_new(tls, versions->opener, &security->tls, error);
}

/*
 * Returns the user whose password takes longest to check. Checking the password of an unknown user takes just as long.
 */
static const struct web_user *slowest_user(const struct web_config *config)
{
    const struct web_user *slowest = NULL;

    for (size_t i = 0; i < config->n_users; i++)
        if (!slowest || password_cost(config->users[i].hash) > password_cost(slowest->hash))
            slowest = &config->users[i];
    return slowest;
}

/* A hash with a high cost only causes a warning, because other exporters accept such hashes. */
static int note_slow_password(struct security *security)
{
    const struct web_user *user = slowest_user(security->config);
    unsigned cost = user ? password_cost(user->hash) : 0;

    if (cost <= PASSWORD_COST_BEARABLE)
        return 0;
    if (asprintf(&security->slow_password,
                 "basic_auth_users: the bcrypt cost of \"%.64s\" is %u: checking one new password, right or wrong, "
                 "takes %u times as long as at cost 10 (a tenth of a second), while other clients wait; make a hash "
                 "with a lower cost (htpasswd -nBC 10)",
                 user->name, cost, 1U << (cost - 10)) < 0) {
        security->slow_password = NULL;
        return -ENOMEM;
    }
    return 0;
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

int security_load(const struct file_opener *opener, const char *path, struct security **ret,
                  struct file_versions *ret_versions, struct error *error)
{
    _cleanup_(security_unrefp) struct security *security = calloc(1, sizeof(*security));
    int r = 0;

    *ret_versions = (struct file_versions){.opener = opener};
    if (!security)
        return error_oom(error);
    security->references = 1;
    if (path && *path) {
        if (file_versions_add(ret_versions, path) < 0)
            return error_oom(error);
        r = web_config_load(opener, path, NULL, &security->config, error);
        if (r == 0)
            r = load_tls(security, ret_versions, error);
        if (r == 0 && note_slow_password(security) < 0)
            r = error_oom(error);
    }
    if (r < 0) {
        name_file(error, path);
        return r;
    }
    *ret = steal(security);
    return 0;
}

/* The key http2 also causes only a warning, and only if the file sets it, because other exporters default to true. */
static const char http2_is_unused[] =
    "http_server_config.http2: HTTP/2 is allowed, but perfcountd serves HTTP/1.1 only, which every HTTP/2 client "
    "speaks as well; write \"http2: false\", or leave the key out";

const char *security_warning(const struct security *security, enum security_warning which)
{
    switch (which) {
    case SECURITY_CLIENTS_UNKNOWN:
        return security->tls ? tls_clients_warning(security->tls) : NULL;
    case SECURITY_PASSWORD_SLOW:
        return security->slow_password;
    case SECURITY_HTTP2_UNUSED:
        return security->config && security->config->http2 ? http2_is_unused : NULL;
    default:
        return security->tls ? tls_warning(security->tls) : NULL;
    }
}

bool security_asks(const struct security *security)
{
    return (security->config && security->config->n_users > 0) || (security->tls && tls_asks(security->tls));
}

bool security_requires_certificate(const struct security *security)
{
    return security->tls && tls_requires_certificate(security->tls);
}

bool security_is_open(const struct security *security)
{
    return (!security->config || security->config->n_users == 0) && !security_requires_certificate(security);
}

bool security_is_blank(const struct security *security)
{
    return security->config && security->config->blank;
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
    free(security->slow_password);
    free(security);
    return NULL;
}
