/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lower half of the event parser: a cursor in the text, names, modifiers, and the terms of a PMU's event.
 *
 * Terms such as "event=0x3c,umask=0x1,edge" are written by a user or read from sysfs. Pure.
 */
#ifndef PERF_EVENT_TERM_H
#define PERF_EVENT_TERM_H

#include "base/error.h"
#include "perf/event.h"

/* A position in the text that is parsed. */
struct event_cursor {
    const char *text;
    size_t at;
    bool samples;   /* the event at the cursor is sampled, not only counted */
    bool is_stream; /* the text is the event group of a sampling stream, not a group to count */
};

static inline char cursor_peek(const struct event_cursor *cursor)
{
    return cursor->text[cursor->at];
}

/* Consumes `c` if it is the next character. */
static inline bool cursor_take(struct event_cursor *cursor, char c)
{
    if (c == '\0' || cursor_peek(cursor) != c)
        return false;
    cursor->at++;
    return true;
}

void cursor_skip_space(struct event_cursor *cursor);
/*
 * Length of the name at the cursor: letters, digits, "_", "-" and "."; 0 if there is no name. The cursor does not move.
 */
size_t cursor_name(const struct event_cursor *cursor);
/* Sets the error "`expected` is missing at the cursor", for example for "a comma", and returns -EINVAL. */
int cursor_set_error(const struct event_cursor *cursor, const char *expected, struct error *error);

/*
 * Parses modifiers up to a comma, a brace, white space or the end, and adds them to `modifiers` and `precise`. Returns
 * -EINVAL for an unknown letter, a repeated letter (p may be given three times), or no letter at all.
 */
int cursor_parse_modifiers(struct event_cursor *cursor, unsigned *modifiers, unsigned *precise, struct error *error);
/* Whether `text` consists of modifier letters only. */
bool cursor_is_modifiers(const char *text, size_t size);
/*
 * Length of the libpfm4 name, "PMU::EVENT:UMASK:c=1" or "EVENT:UMASK", that begins with a word of `size` characters;
 * `size` itself for any other word. Modifiers at the end are not part of the name.
 */
size_t cursor_pfm_name_size(const char *word, size_t size);

struct event_terms {
    struct event_term *terms;
    size_t n;
};

void event_terms_done(struct event_terms *terms);
/*
 * Parses terms up to a slash or the end, whichever comes first. A value that is not a number is kept as text. Returns
 * -EINVAL, with the error at the offending character of the cursor's text, or -ENOMEM.
 */
int event_terms_parse(struct event_cursor *cursor, struct event_terms *ret, struct error *error);
/* Parses a text that consists only of terms, such as a sysfs file. Returns -EINVAL if anything follows the terms. */
int event_terms_parse_text(const char *text, struct event_terms *ret, struct error *error);

/*
 * Checks that the event, whose kind and PMU are set, may have the term. `samples`: the event is sampled, not only
 * counted. Returns -EINVAL, with the error at the offending character.
 */
int event_term_check(const struct event *event, const struct event_term *term, bool samples, struct error *error);

#endif
