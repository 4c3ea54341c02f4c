/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Terms and modifiers of an event, and the cursor in its text.
 *
 * A position in the text of events, and the smallest pieces of their syntax: names and modifiers. Serves parse.h.
 *
 * The terms of a PMU's event, "event=0x3c,umask=0x1,edge", as a person or sysfs writes them.
 */
#ifndef PERF_EVENT_TERM_H
#define PERF_EVENT_TERM_H

#include "base/error.h"
#include "perf/event.h"

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

struct event_terms {
    struct event_term *terms;
    size_t n;
};

void event_terms_done(struct event_terms *terms);
/*
 * Parses up to the slash or the end, whichever comes first. A value that is not a number is taken as text. -EINVAL at
 * the offending character; offsets count from the beginning of the cursor's text. -ENOMEM.
 */
int event_terms_parse(struct event_cursor *cursor, struct event_terms *ret, struct error *error);
/* The same for a whole text, like that of a file in sysfs. */
int event_terms_parse_text(const char *text, struct event_terms *ret, struct error *error);

/*
 * Whether the event, whose kind and PMU are set, can have the term. `samples`: the event samples, and is not only
 * counted. -EINVAL at the offending character.
 */
int event_term_check(const struct event *event, const struct event_term *term, bool samples, struct error *error);

#endif
