/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Heads that can be read in one way only: see framing.h.
 *
 * The head is followed as src/microhttpd/connection.c of libmicrohttpd 0.9.72 to 0.9.76 leaves it:
 * get_next_header_line() cuts the buffer where it is, and writes a NUL over each CR and LF at the end of a line;
 * process_header_line() writes one over the first colon, skips blanks, and has name and value point into the buffer.
 * process_broken_line(), for a line that begins with a blank, appends it to the name: MHD_pool_reallocate()
 * (memorypool.c) moves the name to a new block, or lets it grow over its value where it is the last in the pool. Either
 * way, a name, a value or a line end is no longer in its place, or the folded line is left over behind the value.
 */
#include "http/framing.h"

#include <ctype.h>
#include <microhttpd.h>
#include <stdio.h>
#include <strings.h>

/*
 * A line ends in CR LF. Heads that leave the same NULs behind are not noticed: a NUL in place of the CR; a line of a
 * colon and LF in place of the empty one, or of a colon and CR LF behind a bare LF; and lines that begin with a NUL
 * before the request line, which libmicrohttpd skips. A proxy that keeps to RFC 9112 does not pass them on. Other
 * proxies were not tried.
 */
#define LINE_END 2

/*
 * libmicrohttpd 0.9.72 gives, in place of the size of the head, how far its empty line begins before its end: -2, or -1
 * for a bare LF. There, a bare LF at the end of the last header is not noticed either.
 */
#define EMPTY_LINE_ALONE ((size_t)-LINE_END)

bool framing_is_followed(const char *version)
{
    unsigned major, minor, micro;

    /* An unknown version is followed: then it may refuse good heads, but misreads no bad one. */
    if (sscanf(version, "%u.%u.%u", &major, &minor, &micro) != 3)
        return true;
    return major == 0 && (minor < 9 || (minor == 9 && micro < 77));
}

/* A token of RFC 9110, section 5.6.2. */
static bool is_token(const char *text)
{
    const char *at = text;

    while (isalnum((unsigned char)*at) || (*at && strchr("-_!#$%&'*+.^`|~", *at)))
        at++;
    return at > text && *at == '\0';
}

/* RFC 9110, section 5.5. A CR or NUL inside of it is the end of a line to some. */
static bool has_controls(const char *text)
{
    for (; *text; text++)
        if (((unsigned char)*text < ' ' && *text != '\t') || *text == 0x7f)
            return true;
    return false;
}

static void framing_refuse(struct framing *framing, const char *what)
{
    if (!framing->what)
        framing->what = what;
}

/* Whether `next` is where the next line begins. Pointers to other blocks are compared, and never dereferenced. */
static bool line_follows(const char *end, const char *next)
{
    return (uintptr_t)next == (uintptr_t)end + LINE_END && end[0] == '\0' && end[1] == '\0';
}

/* Whether a colon and blanks were between name and value. */
static bool belongs_to(const char *name, const char *value)
{
    const char *behind = name + strlen(name) + 1;

    return (uintptr_t)value >= (uintptr_t)behind && behind + strspn(behind, " \t") >= value;
}

static void framing_follow(struct framing *framing, const char *name, const char *value)
{
    if (!framing->at || framing->what)
        return;
    if (line_follows(framing->at, name) && value && belongs_to(name, value))
        framing->at = value + strlen(value);
    else
        framing_refuse(framing, "a line that continues in the next, or does not end in CR LF");
}

void framing_begin(struct framing *framing, const char *version)
{
    *framing = (struct framing){.at = version ? version + strlen(version) : NULL};
}

void framing_header(struct framing *framing, const char *name, const char *value)
{
    framing->n_headers++;
    if (!is_token(name))
        framing_refuse(framing, "a header name that is not a token");
    framing_follow(framing, name, value);
    value = value ? value : "";
    if (has_controls(value))
        framing_refuse(framing, "a control character");
    if (strcasecmp(name, MHD_HTTP_HEADER_HOST) == 0 && framing->n_hosts++ > 0)
        framing_refuse(framing, "two hosts");
    if (strcasecmp(name, MHD_HTTP_HEADER_CONTENT_LENGTH) != 0)
        return;
    if (framing->length && !str_equal(framing->length, value))
        framing_refuse(framing, "two lengths");
    framing->length = value;
}

void framing_end(struct framing *framing, const char *method, size_t size)
{
    const char *at = framing->at;
    const char *end = size == EMPTY_LINE_ALONE ? at + LINE_END + LINE_END : method + size;

    if (size == EMPTY_LINE_ALONE && framing->n_headers == 0)
        return; /* no line to be continued; and nothing is known to be behind the empty line */
    /* The end of the last line, and the empty line. */
    if (at && !framing->what &&
        ((uintptr_t)end != (uintptr_t)at + LINE_END + LINE_END || !line_follows(at, at + LINE_END) ||
         !line_follows(at + LINE_END, end)))
        framing_refuse(framing, "a line that continues in the next, or does not end in CR LF");
}
