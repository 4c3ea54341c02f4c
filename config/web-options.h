/* SPDX-License-Identifier: Apache-2.0 */
/* The keys of the web configuration, one row each, as config/keys.h has those of perfcountd.yaml. */
#ifndef CONFIG_WEB_OPTIONS_H
#define CONFIG_WEB_OPTIONS_H

#include "config/option-table.h"

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
