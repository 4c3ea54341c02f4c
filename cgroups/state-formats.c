/* SPDX-License-Identifier: Apache-2.0 */
/* All formats of state files take names out of objects by this: see format.h. */
#include "cgroups/state-formats.h"

int name_format_take(const json_t *object, const struct name_field *fields, size_t n, struct names *names)
{
    int r = 0;

    for (size_t i = 0; i < n && r == 0; i++) {
        const json_t *text = json_object_get(object, fields[i].key);
        if (json_string_length(text))
            r = names_set(names, fields[i].kind, json_string_value(text), json_string_length(text));
    }
    return r;
}

bool name_format_has(const json_t *object, const char *key, const char *text)
{
    const char *value = json_string_value(json_object_get(object, key));

    return value && str_equal(value, text);
}
