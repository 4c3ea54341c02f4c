/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The form of a bcrypt hash, "$2y$10$" and 53 characters. Pure; no message quotes the text.
 *
 * The types of values that only the web configuration has. They are never shown, because some are secrets.
 *
 * The keys of the web configuration, one row each, as config/keys.h has those of perfcountd.yaml.
 */
#ifndef CONFIG_WEB_KEYS_H
#define CONFIG_WEB_KEYS_H

#include "base/error.h"
#include "config/schema.h"

/* -EINVAL with what is wrong: the text is not a hash, a hash of another kind, or damaged. */
int bcrypt_check(const char *text, struct error *error);

extern const struct option_type option_optional_text; /* char *; NULL for "" */
extern const struct option_type option_pem;           /* char *; NULL for ""; may have several lines */
extern const struct option_type option_yaml11_bool;   /* bool, with the words of YAML 1.1: yes, off... */
extern const struct option_type option_go_duration;   /* uint64_t, nanoseconds, as Go's time.ParseDuration has them */
extern const struct option_type option_headers;       /* of struct web_config */
extern const struct option_type option_users;         /* of struct web_config */

/* Indices into web_options; those of tls_server_config come first. */
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

extern const struct option_table web_options; /* of struct web_config */

#endif
