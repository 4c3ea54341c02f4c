/* SPDX-License-Identifier: Apache-2.0 */
/* The configuration as JSON, which config_parse() reads as the same configuration: see config.h. */
#include <jansson.h>

#include "config/config.h"
#include "config/options.h"

/* The object at the key before the first dot of `path`, made where it is missing; borrowed. */
static json_t *inner_map(json_t *map, const char *path)
{
    _cleanup_(freep) char *key = strndup(path, strcspn(path, "."));
    json_t *inner = key ? json_object_get(map, key) : NULL;

    if (!inner && key && json_object_set_new(map, key, json_object()) == 0)
        inner = json_object_get(map, key);
    return inner;
}

static int put(json_t *map, const char *path, json_t *value)
{
    const char *dot;

    while (map && (dot = strchr(path, '.'))) {
        map = inner_map(map, path);
        path = dot + 1;
    }
    if (map)
        return json_object_set_new(map, path, value);
    json_decref(value);
    return -1;
}

json_t *config_json(const struct config *config)
{
    json_t *root = json_object();

    for (size_t i = 0; i < config_options.n; i++) {
        const struct option *option = &config_options.rows[i];
        if (!option->type->json)
            continue;
        if (put(root, option->path, option->type->json(option, config)) < 0) {
            json_decref(root);
            return NULL;
        }
    }
    return root;
}
