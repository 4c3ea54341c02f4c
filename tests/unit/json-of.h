/* SPDX-License-Identifier: Apache-2.0 */
/* Parses JSON that is written in a test. */
#ifndef TESTS_UNIT_JSON_OF_H
#define TESTS_UNIT_JSON_OF_H

#include <jansson.h>

#include "base/cleanup.h"
#include "tests/unit/test.h"

/* `text` uses ' instead of ". The caller releases the value. Invalid JSON fails the test. */
static inline json_t *json_of(const char *text)
{
    _cleanup_(freep) char *copy = strdup(text);

    for (char *at = copy; (at = strchr(at, '\''));)
        *at = '"';
    json_t *json = json_loads(copy, JSON_DECODE_ANY, NULL);
    assert_non_null(json);
    return json;
}

#endif
