/* SPDX-License-Identifier: Apache-2.0 */
/* The kinds of names: see name-kind.h. */
#include "cgroups/name-kind.h"

static const char *const kind_texts[N_NAME_KINDS] = {
    [NAME_UNIT] = "unit",
    [NAME_SLICE] = "slice",
    [NAME_CONTAINER_ID] = "container_id",
    [NAME_CONTAINER] = "container",
    [NAME_IMAGE] = "image",
    [NAME_POD] = "pod",
    [NAME_NAMESPACE] = "namespace",
    [NAME_COMPOSE_PROJECT] = "compose_project",
    [NAME_COMPOSE_SERVICE] = "compose_service",
    [NAME_RUNTIME] = "runtime",
    [NAME_DESCRIPTION] = "description",
};

const char *name_kind_text(enum name_kind kind)
{
    return kind_texts[kind];
}

int name_kind_parse(const char *pattern, enum name_kind *ret, const char **ret_glob)
{
    for (size_t i = 0; i < N_NAME_KEYS; i++) {
        size_t length = strlen(kind_texts[i]);
        if (strncmp(pattern, kind_texts[i], length) == 0 && pattern[length] == '=') {
            *ret = (enum name_kind)i;
            *ret_glob = pattern + length + 1;
            return 0;
        }
    }
    return -ENOENT;
}
