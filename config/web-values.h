/* SPDX-License-Identifier: Apache-2.0 */
/* The values of the web configuration, which config/web-config.h loads from a file. */
#ifndef CONFIG_WEB_VALUES_H
#define CONFIG_WEB_VALUES_H

#include "base/util.h"

/* The values of Go's crypto/tls.ClientAuthType; the web configuration file uses Go's names for these values. */
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
    /* Paths, resolved against the directory of the file, and PEM strings. A member is NULL if its key is absent. */
    char *cert_file, *key_file, *client_ca_file;
    char *cert, *key, *client_ca;
    enum client_auth client_auth; /* as in Go, the system's CAs are trusted if client_ca is absent */
    struct text_list client_allowed_sans;
    enum tls_version min_version, max_version; /* TLS 1.2 and 1.3 by default */
    struct text_list cipher_suites;     /* Go's names, including TLS 1.3 suites; an empty list means the defaults */
    bool prefer_server_cipher_suites;   /* the server's order of preference wins over the client's; true by default */
    struct text_list curve_preferences; /* Go's names, such as CurveP256 and X25519; an empty list means the defaults */
};

struct web_header {
    char *name, *value;
};

struct web_user {
    char *name, *hash; /* bcrypt hash: $2a$, $2b$, $2x$ or $2y$, a cost of 4 to 31, and 53 characters */
};

struct web_config {
    char *file; /* path of the web configuration file */
    bool blank; /* the file is empty */
    struct web_tls tls;
    struct web_header *headers;
    size_t n_headers;
    struct web_user *users;
    size_t n_users;
    struct text_list auth_excluded_paths; /* URL paths that need no password */
    uint64_t rate_interval_ns;            /* mean time between two requests; 0: no limit */
    uint64_t rate_burst;                  /* number of requests accepted at once; at least 1 if there is a limit */
    bool http2; /* the file enables http2; http/security.c then warns that only HTTP/1.1 is served */
};

#endif
