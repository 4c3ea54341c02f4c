/* SPDX-License-Identifier: Apache-2.0 */
/* A place in the text that is parsed: what the parts of the event syntax share. Not for other parts of the daemon. */
#ifndef PERF_EVENT_CURSOR_H
#define PERF_EVENT_CURSOR_H

#include "base/error.h"

struct event_cursor {
    const char *text;
    size_t at;
    bool samples; /* the event that stands here is sampled, not counted */
};

static inline char cursor_peek(const struct event_cursor *cursor)
{
    return cursor->text[cursor->at];
}

/* Steps over `c` where it stands here. */
static inline bool cursor_take(struct event_cursor *cursor, char c)
{
    if (c == '\0' || cursor_peek(cursor) != c)
        return false;
    cursor->at++;
    return true;
}

void cursor_skip_space(struct event_cursor *cursor);
/* How many characters of a name stand here: letters, digits, "_", "-" and ".". */
size_t cursor_name(const struct event_cursor *cursor);
/* -EINVAL at the character that stands here; `expected` says what should: "a comma". */
int cursor_unexpected(const struct event_cursor *cursor, const char *expected, struct error *error);

/*
 * Modifiers, up to a comma, a brace, a space or the end. Adds to `modifiers` and `precise`; an unknown letter, one said
 * twice, or none at all is an error at its place.
 */
int modifiers_parse(struct event_cursor *cursor, unsigned *modifiers, unsigned *precise, struct error *error);
/* Whether `text` is nothing but modifier letters. */
bool modifiers_only(const char *text, size_t size);
/*
 * The size of one of libpfm4's names, "PMU::EVENT:UMASK:c=1" or "EVENT:UMASK", which begins with a word of `size`
 * characters; of any other word that size. Modifiers at the end do not belong to it.
 */
size_t colon_name_size(const char *word, size_t size);

#endif
