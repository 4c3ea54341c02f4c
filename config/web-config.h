/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The web configuration file of the Prometheus exporters (prometheus/exporter-toolkit, docs/web-configuration.md): TLS,
 * passwords, headers and a rate limit. Immutable once loaded.
 *
 * Loading checks what can be said of the text alone; whether a certificate is one, and whether GnuTLS can do what the
 * TLS part asks for, is found out by who uses it.
 */
#ifndef CONFIG_WEB_CONFIG_H
#define CONFIG_WEB_CONFIG_H

#include "base/cleanup.h"
#include "base/error.h"
#include "base/file.h"

/* crypto/tls.ClientAuthType of Go, whose names the file uses. */
enum client_auth {
    CLIENT_AUTH_NONE,
    CLIENT_AUTH_REQUEST,
    CLIENT_AUTH_REQUIRE_ANY,
    CLIENT_AUTH_VERIFY_IF_GIVEN,
    CLIENT_AUTH_REQUIRE_AND_VERIFY,
};

enum tls_version { TLS_VERSION_1_0, TLS_VERSION_1_1, TLS_VERSION_1_2, TLS_VERSION_1_3 };

struct text_list {
    char **items;
    size_t n;
};

struct web_tls {
    bool enabled; /* tls_server_config has a certificate */
    /* Paths, those that were relative joined to the directory of the file; or the PEM text itself. NULL: not given. */
    char *cert_file, *key_file, *client_ca_file;
    char *cert, *key, *client_ca;
    enum client_auth client_auth; /* with one that verifies and no client_ca, Go takes the CAs of the system */
    struct text_list client_allowed_sans;
    enum tls_version min_version, max_version; /* TLS 1.2 and 1.3 where nothing is said */
    struct text_list cipher_suites;     /* Go's names, each known, those of TLS 1.3 among them; empty: the usual ones */
    bool prefer_server_cipher_suites;   /* the order above counts before the client's; true where nothing is said */
    struct text_list curve_preferences; /* Go's names: CurveP256, X25519...; empty: the usual ones */
};

struct web_header {
    char *name, *value;
};

struct web_user {
    char *name, *hash; /* bcrypt: one of $2a$, $2b$, $2x$, $2y$, a cost of 4 to 31, and 53 characters */
};

struct web_config {
    char *file; /* where it was read from */
    struct web_tls tls;
    struct web_header *headers;
    size_t n_headers;
    struct web_user *users;
    size_t n_users;
    struct text_list auth_excluded_paths; /* URL paths that need no password */
    uint64_t rate_interval_ns;            /* a request per this long, in the mean; 0: no limit */
    uint64_t rate_burst;                  /* so many at once; 1 or more where there is a limit */
    bool http2;                           /* asked for explicitly: the server may, and this one speaks HTTP/1.1 */
};

/*
 * Reads `path`, which `opener` opens (base/file.h). -EINVAL for bad content, with line and column in the error; errors
 * of open(2) and read(2). The message does not repeat file and place, as with config_load().
 */
int web_config_load(const struct file_opener *opener, const char *path, struct web_config **ret, struct error *error);
/* The same for a text in memory; `directory` is what relative paths in it are relative to. Pure. */
int web_config_parse(const char *text, size_t size, const char *directory, struct web_config **ret,
                     struct error *error);
struct web_config *web_config_free(struct web_config *config);
DEFINE_CLEANUP(struct web_config *, web_config_free);

#endif
