/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses arbitrary text as a configuration: an error has a message, and a valid configuration is unchanged after a
 * conversion to JSON and back.
 */
#include "base/text.h"
#include "config/config.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    _cleanup_(config_freep) struct config *config = NULL, *again = NULL;
    struct error error = {0};

    if (config_parse((const char *)data, size, &config, &error) < 0) {
        const char *text = error.message;
        assert(*text && utf8_valid_prefix(text, strlen(text)) == strlen(text));
        return 0;
    }
    json_t *json = config_json(config);
    char *text = json ? json_dumps(json, 0) : NULL;
    assert(text && config_parse(text, strlen(text), &again, &error) == 0);
    json_t *json_again = config_json(again);
    assert(json_equal(json, json_again));
    json_decref(json);
    json_decref(json_again);
    free(text);
    return 0;
}
