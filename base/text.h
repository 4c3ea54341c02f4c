/* SPDX-License-Identifier: Apache-2.0 */
/*
 * UTF-8, escaping for each output, and the nearest of known names.
 *
 * UTF-8 (RFC 3629): whether a text is valid, and whether it can be shown in one line.
 *
 * Escaping of a text inside each format that the daemon writes. Names are written by strangers, and a reader may print
 * them on a terminal: in all formats each byte that is not part of a printable character (base/text.h) becomes U+FFFD.
 * HELP and label values keep a line feed, which the exposition formats escape as \n.
 *
 * "Did you mean": the known names that are nearest to a wrong one, by edit distance with transpositions, ignoring case;
 * also names that the wrong one abbreviates.
 */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include "base/buffer.h"
#include "base/util.h"

/* The length of the valid character at the start of `text` (of `size` bytes), 0 where there is none. */
size_t utf8_character(const char *text, size_t size);
/* The offset of the first byte that is not valid UTF-8; `size` where all bytes are. */
size_t utf8_valid_prefix(const char *text, size_t size);
/*
 * The length of the printable character at the start of `text`, 0 where there is none. Invalid UTF-8, controls (C0,
 * DEL, C1), line breaks of any kind, the byte order mark and noncharacters are not printable: a terminal obeys some of
 * them.
 */
size_t utf8_printable_character(const char *text, size_t size);
/* The offset of the first byte that is not part of a printable character; `size` where all bytes are. */
size_t utf8_printable_prefix(const char *text, size_t size);

/* U+FFFD, which stands for a byte that is not part of a printable character. */
#define UTF8_REPLACEMENT "\xef\xbf\xbd"

/*
 * Copies the first `size` bytes of `text`, each byte that is not part of a printable character as U+FFFD, into `room`
 * bytes with a NUL, cut at the end of a character. Returns the length of the copy.
 */
size_t utf8_copy_printable(char *to, size_t room, const char *text, size_t size);

enum escape {
    ESCAPE_TEXT_HELP,        /* Prometheus text format 0.0.4, "Comments, help text, and type information" */
    ESCAPE_OPENMETRICS_HELP, /* OpenMetrics 1.0.0, "escaped-string" */
    ESCAPE_LABEL,            /* a label value, the same in both */
    ESCAPE_JSON,             /* RFC 8259, section 7 */
    ESCAPE_NOTHING,          /* bytes are replaced, and nothing is escaped */
};

/* Appends `text`, escaped, without quotes around it. */
void escape_append(struct buffer *buffer, const char *text, enum escape escape);

/* Appends a text that a stranger wrote, for a terminal: a byte that is no part of a printable character is "\xNN". */
void escape_append_printable(struct buffer *buffer, const char *text);

#define SUGGEST_MAX 3

struct suggest {
    const char *wrong;
    size_t n;
    const char *names[SUGGEST_MAX]; /* nearest first; borrowed from the candidates */
    unsigned distances[SUGGEST_MAX];
};

/* Considers one more candidate, whose text must outlive the suggestion. */
void suggest_consider(struct suggest *suggest, const char *candidate);
/* `; did you mean "a", "b"?`, or "" where nothing is near enough. `text` is always NUL-terminated. */
const char *suggest_format(const struct suggest *suggest, char *text, size_t size);

#endif
