/* SPDX-License-Identifier: Apache-2.0 */
#include "cgroups/names.h"

#include <stdio.h>

#include "base/cleanup.h"
#include "base/text.h"

/* --- kinds --- */

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

/* --- names --- */

int names_set(struct names *names, enum name_kind kind, const char *text, size_t size)
{
    char clean[NAME_SIZE_MAX + 1];
    size_t n = utf8_copy_printable(clean, sizeof(clean), text, size);
    char *copy = n ? strndup(clean, n) : NULL;
    if (n && !copy)
        return -ENOMEM;
    free(names->texts[kind]);
    names->texts[kind] = copy;
    return 0;
}

int names_merge(struct names *names, const struct names *other)
{
    for (size_t i = 0; i < N_NAME_KINDS; i++) {
        if (names->texts[i] || !other->texts[i])
            continue;
        names->texts[i] = strdup(other->texts[i]);
        if (!names->texts[i])
            return -ENOMEM;
    }
    names->is_pause |= other->is_pause;
    names->source = names->source ? names->source : other->source;
    if (names->texts[NAME_CONTAINER])
        names->unnamed = NULL;
    else if (!names->unnamed)
        names->unnamed = other->unnamed;
    return 0;
}

static bool texts_equal(const char *a, const char *b)
{
    return a && b ? str_equal(a, b) : a == b;
}

bool names_equal(const struct names *a, const struct names *b)
{
    for (size_t i = 0; i < N_NAME_KINDS; i++)
        if (!texts_equal(a->texts[i], b->texts[i]))
            return false;
    return a->is_pause == b->is_pause && a->source == b->source && a->unnamed == b->unnamed;
}

void names_done(struct names *names)
{
    for (size_t i = 0; i < N_NAME_KINDS; i++)
        free(names->texts[i]);
    *names = (struct names){0};
}

/*
 * The formats that names_best() tries, the best first. The first format whose last part is known is used. The known
 * parts of a format are joined with slashes.
 */
static const struct {
    enum name_kind parts[3];
    size_t n;
} best[] = {
    {{NAME_COMPOSE_PROJECT, NAME_COMPOSE_SERVICE}, 2},
    {{NAME_NAMESPACE, NAME_POD, NAME_CONTAINER}, 3},
    {{NAME_NAMESPACE, NAME_POD}, 2},
    {{NAME_UNIT}, 1},
    {{NAME_SLICE}, 1},
};

const char *names_best(const struct names *names, char room[NAMES_BEST_MAX])
{
    for (size_t i = 0; i < ARRAY_SIZE(best); i++) {
        char *end = room;
        if (!names->texts[best[i].parts[best[i].n - 1]])
            continue;
        for (size_t k = 0; k < best[i].n; k++) {
            const char *text = names->texts[best[i].parts[k]];
            if (text)
                end += sprintf(end, "%s%s", end == room ? "" : "/", text);
        }
        return room;
    }
    return NULL;
}
