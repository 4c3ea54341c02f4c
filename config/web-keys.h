/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of the keys of the web configuration, one row each, and the option types that only these keys have. Values
 * of these types are never shown, because some of them are secrets.
 */
#ifndef CONFIG_WEB_KEYS_H
#define CONFIG_WEB_KEYS_H

#include "base/error.h"
#include "config/schema.h"

/*
 * Checks the form of a bcrypt hash, such as "$2y$10$" followed by 53 characters. Returns -EINVAL if the string is not a
 * hash, is another kind of hash, or is damaged. The error message never quotes the hash. Pure.
 */
int bcrypt_check(const char *text, struct error *error);

extern const struct option_type option_optional_text; /* char *, or NULL for "" */
extern const struct option_type option_pem;           /* char *, or NULL for ""; the string may have several lines */
extern const struct option_type option_yaml11_bool; /* bool; also accepts the words of YAML 1.1, such as yes and off */
extern const struct option_type option_go_duration; /* uint64_t, nanoseconds; a duration in Go's syntax */
extern const struct option_type option_headers;     /* sets `headers` of a struct web_config */
extern const struct option_type option_users;       /* sets `users` of a struct web_config */

/* Indices into web_options. The keys of tls_server_config come first. */
enum {
    WEB_CERT,
    WEB_KEY,
    WEB_CLIENT_CA,
    WEB_CERT_FILE,
    WEB_KEY_FILE,
    WEB_CLIENT_AUTH_TYPE,
    WEB_CLIENT_CA_FILE,
    WEB_CLIENT_ALLOWED_SANS,
    WEB_MIN_VERSION,
    WEB_MAX_VERSION,
    WEB_CIPHER_SUITES,
    WEB_PREFER_SERVER_CIPHER_SUITES,
    WEB_CURVE_PREFERENCES,
    WEB_TLS_OPTIONS,
    WEB_HTTP2 = WEB_TLS_OPTIONS,
    WEB_HEADERS,
    WEB_USERS,
    WEB_RATE_INTERVAL,
    WEB_RATE_BURST,
    WEB_AUTH_EXCLUDED_PATHS,
    WEB_OPTIONS,
};

extern const struct option_table web_options; /* the rows set members of struct web_config */

#endif
