/* SPDX-License-Identifier: Apache-2.0 */
/* A set of few texts: see intern.h. */
#include "base/intern.h"

/* The index of the text, or the index at which it belongs. */
static size_t intern_find(const struct intern *intern, const char *text)
{
    return array_search(intern->n, i, strcmp(intern->texts[i], text) < 0);
}

const char *intern_text(struct intern *intern, const char *text)
{
    size_t at = intern_find(intern, text);

    if (at < intern->n && str_equal(intern->texts[at], text))
        return intern->texts[at];
    if (array_grow(&intern->texts, intern->n) < 0)
        return NULL;
    size_t size = strlen(text);
    char *memory = malloc(sizeof(size) + size + 1);
    if (!memory)
        return NULL;
    memcpy(memory, &size, sizeof(size));
    char *copy = memcpy(memory + sizeof(size), text, size + 1);
    memmove(&intern->texts[at + 1], &intern->texts[at], (intern->n - at) * sizeof(intern->texts[0]));
    intern->texts[at] = copy;
    intern->n++;
    return copy;
}

void intern_done(struct intern *intern)
{
    for (size_t i = 0; i < intern->n; i++)
        free(intern->texts[i] - sizeof(size_t));
    free(intern->texts);
    *intern = (struct intern){0};
}
