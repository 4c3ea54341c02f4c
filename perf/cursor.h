/* SPDX-License-Identifier: Apache-2.0 */
/* A position in the text of events, and the smallest pieces of their syntax: names and modifiers. Serves parse.h. */
#ifndef PERF_CURSOR_H
#define PERF_CURSOR_H

#include "base/error.h"

struct event_cursor {
    const char *text;
    size_t at;
    bool samples;   /* the event at this position is sampled, not counted */
    bool is_stream; /* the text is the group of a stream of samples, not a group of the configuration */
};

static inline char cursor_peek(const struct event_cursor *cursor)
{
    return cursor->text[cursor->at];
}

/* Steps over `c`, if it stands here. */
static inline bool cursor_take(struct event_cursor *cursor, char c)
{
    if (c == '\0' || cursor_peek(cursor) != c)
        return false;
    cursor->at++;
    return true;
}

void cursor_skip_space(struct event_cursor *cursor);
/* The size of the name that stands here: letters, digits, "_", "-" and ".". */
size_t cursor_name(const struct event_cursor *cursor);
/* -EINVAL at the character that stands here, where `expected` ("a comma") should be. */
int cursor_set_error(const struct event_cursor *cursor, const char *expected, struct error *error);

/*
 * Parses modifiers up to a comma, a brace, a space or the end, and adds them to `modifiers` and `precise`. -EINVAL at
 * an unknown letter, at one that is repeated, or where there is none.
 */
int cursor_parse_modifiers(struct event_cursor *cursor, unsigned *modifiers, unsigned *precise, struct error *error);
/* Whether `text` is nothing but modifier letters. */
bool cursor_is_modifiers(const char *text, size_t size);
/*
 * The size of a name of libpfm4, "PMU::EVENT:UMASK:c=1" or "EVENT:UMASK", which begins with a word of `size`
 * characters; `size` for any other word. Modifiers at the end do not belong to the name.
 */
size_t cursor_pfm_name_size(const char *word, size_t size);

#endif
