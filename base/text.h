/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Untrusted text: validates UTF-8 (RFC 3629), escapes for each output format, and suggests names ("did you mean").
 *
 * Anyone on the machine may choose a process or cgroup name, and a reader may print it on a terminal. Therefore, in
 * every format, each byte that is not part of a printable character becomes U+FFFD. Only HELP texts and label values
 * keep a line feed, which the exposition formats escape as \n.
 *
 * A character is printable unless it is invalid UTF-8, a control (C0, DEL, C1), a line break of any kind, the byte
 * order mark or a noncharacter; a terminal acts on some of these.
 */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include "base/buffer.h"
#include "base/util.h"

/* The length of the valid character at the start of `text` (`size` bytes), or 0 if it starts with none. */
size_t utf8_character(const char *text, size_t size);
/* The offset of the first byte that is not valid UTF-8, or `size`. */
size_t utf8_valid_prefix(const char *text, size_t size);
/* The length of the printable character at the start of `text`, or 0 if it starts with none. */
size_t utf8_printable_character(const char *text, size_t size);
/* The offset of the first byte that is not part of a printable character, or `size`. */
size_t utf8_printable_prefix(const char *text, size_t size);

/* U+FFFD, in UTF-8. */
#define UTF8_REPLACEMENT "\xef\xbf\xbd"

/*
 * Copies the first `size` bytes of `text` into `room` bytes, including a NUL, and replaces each byte that is not part
 * of a printable character with U+FFFD. Truncates at a character boundary. Returns the length of the copy.
 */
size_t utf8_copy_printable(char *to, size_t room, const char *text, size_t size);

enum escape {
    ESCAPE_TEXT_HELP,        /* Prometheus text format 0.0.4, "Comments, help text, and type information" */
    ESCAPE_OPENMETRICS_HELP, /* OpenMetrics 1.0.0, "escaped-string" */
    ESCAPE_LABEL,            /* a label value, which both exposition formats escape alike */
    ESCAPE_JSON,             /* RFC 8259, section 7 */
    ESCAPE_NOTHING,          /* escapes no character; only unprintable bytes are replaced */
    ESCAPE_XML,              /* the content of elements and of quoted attributes */
};

/* The length of the prefix that no format except XML escapes: printable ASCII, but no quote and no backslash. */
size_t escape_plain_prefix(const char *text);
/* Appends `text`, escaped, without surrounding quotes. */
void escape_append(struct buffer *buffer, const char *text, enum escape escape);

/* For a terminal: appends `text`, in which "\xNN" replaces each byte that is not part of a printable character. */
void escape_append_printable(struct buffer *buffer, const char *text);

/* For a URL: appends `text` percent-encoded (RFC 3986), except for ASCII letters, digits, '-', '.' and '/'. */
void escape_append_url(struct buffer *buffer, const char *text);

/*
 * Whether to write colours to the descriptor: it is a terminal, TERM is not "dumb", and NO_COLOR (no-color.org) is not
 * set.
 */
bool text_has_colour(int fd);

#define SUGGEST_MAX 3

/*
 * The known names nearest to a wrong one, by edit distance with transpositions, ignoring case and treating '_' as '-'.
 * Names that the wrong one abbreviates count as near. Start with {.wrong = NAME}.
 */
struct suggest {
    const char *wrong;
    size_t n;
    const char *names[SUGGEST_MAX]; /* nearest first; borrowed */
    unsigned distances[SUGGEST_MAX];
};

/* Adds a candidate, which must outlive the struct. */
void suggest_consider(struct suggest *suggest, const char *candidate);
/* Writes `; did you mean "a", "b"?`, or "" if no candidate is near enough, always with a NUL. Returns `text`. */
const char *suggest_format(const struct suggest *suggest, char *text, size_t size);

/* Returns the plural suffix of a noun for the count `n`: "" for 1, else "s". */
static inline const char *plural(uint64_t n)
{
    return n == 1 ? "" : "s";
}

#endif
