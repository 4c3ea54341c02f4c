/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses arbitrary text as the exporters' web configuration: an error has a message of one line, and a valid
 * configuration is consistent.
 */
#include "base/text.h"
#include "config/web-config.h"
#include "config/web-keys.h"
#include "tests/fuzz/fuzz.h"

static void check_tls(const struct web_tls *tls)
{
    assert((tls->cert_file != NULL) != (tls->cert != NULL));
    assert((tls->key_file != NULL) != (tls->key != NULL));
    assert(!tls->client_ca_file || !tls->client_ca);
    assert((!tls->client_ca_file && !tls->client_ca) || tls->client_auth != CLIENT_AUTH_NONE);
    assert(tls->min_version <= tls->max_version);
    assert(!tls->cert_file || tls->cert_file[0] == '/');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    _cleanup_(web_config_freep) struct web_config *config = NULL;
    struct error error = {0};

    if (web_config_parse((const char *)data, size, "/etc", &config, &error) < 0) {
        const char *text = error.message;
        assert(*text && utf8_printable_prefix(text, strlen(text)) == strlen(text));
        return 0;
    }
    if (config->tls.enabled)
        check_tls(&config->tls);
    for (size_t i = 0; i < config->n_users; i++)
        assert(bcrypt_check(config->users[i].hash, NULL) == 0 && !strchr(config->users[i].name, ':'));
    assert(config->rate_interval_ns == 0 || config->rate_burst > 0);
    return 0;
}
