/* SPDX-License-Identifier: Apache-2.0 */
/* The error about a name that nobody knows: see unknown.h. */
#include "base/unknown.h"

#include <stdio.h>

#include "base/buffer.h"
#include "base/cleanup.h"

/* The most names that are compared: who has more events configured finds the last ones in the configuration. */
#define NAMES_MAX 1024
/* The most bytes of the list: a longer one helps nobody. */
#define LIST_MAX 320

void unknown_done(struct unknown *unknown)
{
    free(unknown->known);
}

void unknown_consider(struct unknown *unknown, const char *name)
{
    for (size_t i = 0; i < unknown->n; i++)
        if (unknown->known[i] == name || str_equal(unknown->known[i], name))
            return;
    if (unknown->n == NAMES_MAX)
        return;
    suggest_consider(&unknown->suggest, name);
    if (array_grow(&unknown->known, unknown->n) < 0)
        unknown->failed = true;
    else
        unknown->known[unknown->n++] = name;
}

static void append_known(struct buffer *sentence, const struct unknown *unknown)
{
    size_t start = sentence->size;

    for (size_t i = 0; i < unknown->n; i++) {
        if (sentence->size - start + strlen(unknown->known[i]) > LIST_MAX) {
            buffer_append_text(sentence, ", ...");
            return;
        }
        buffer_appendf(sentence, "%s%s", i ? ", " : "", unknown->known[i]);
    }
}

int unknown_error(const struct unknown *unknown, struct error *error, const char *format, ...)
{
    _cleanup_(buffer_done) struct buffer sentence = {0};
    char start[256], suggestion[3 * 64 + 64];
    va_list args;

    va_start(args, format);
    vsnprintf(start, sizeof(start), format, args);
    va_end(args);
    suggest_format(&unknown->suggest, suggestion, sizeof(suggestion));
    buffer_appendf(&sentence, "%s%s", start, suggestion);
    if (unknown->n > 0 && !unknown->failed) {
        buffer_append_text(&sentence, suggestion[0] ? " Known are " : "; known are ");
        append_known(&sentence, unknown);
    }
    buffer_append_char(&sentence, '\0');
    return error_set(error, -EINVAL, "%s", sentence.failed ? start : sentence.data);
}
