/* SPDX-License-Identifier: Apache-2.0 */
#include "base/text.h"

#include <ctype.h>
#include <stdio.h>
#include <strings.h>
#include <unistd.h>

/* --- UTF-8 --- */

/*
 * Valid sequences (RFC 3629, section 4): the range of the first byte, the range of the second byte, the total size in
 * bytes.
 */
static const struct {
    unsigned char first_low, first_high, second_low, second_high, size;
} forms[] = {
    {0x00, 0x7f, 0x00, 0x00, 1}, {0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3},
    {0xe1, 0xec, 0x80, 0xbf, 3}, {0xed, 0xed, 0x80, 0x9f, 3}, {0xee, 0xef, 0x80, 0xbf, 3},
    {0xf0, 0xf0, 0x90, 0xbf, 4}, {0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4},
};

size_t utf8_character(const char *text, size_t size)
{
    const unsigned char *bytes = (const unsigned char *)text;

    for (size_t i = 0; size && i < ARRAY_SIZE(forms); i++) {
        if (bytes[0] < forms[i].first_low || bytes[0] > forms[i].first_high)
            continue;
        if (forms[i].size > size)
            return 0;
        if (forms[i].size > 1 && (bytes[1] < forms[i].second_low || bytes[1] > forms[i].second_high))
            return 0;
        for (size_t k = 2; k < forms[i].size; k++)
            if ((bytes[k] & 0xc0) != 0x80)
                return 0;
        return forms[i].size;
    }
    return 0;
}

size_t utf8_valid_prefix(const char *text, size_t size)
{
    size_t offset = 0, length;

    while (offset < size && (length = utf8_character(text + offset, size - offset)) > 0)
        offset += length;
    return offset;
}

/* Valid non-ASCII characters that are not printable: all bytes except the last, then the range of the last byte. */
static const struct {
    const char *first;
    unsigned char last_low, last_high;
} unprintable[] = {
    {"\xc2", 0x80, 0x9f},     /* C1 controls, including the line break U+0085 */
    {"\xe2\x80", 0xa8, 0xa9}, /* U+2028 and U+2029, line and paragraph separators */
    {"\xef\xbb", 0xbf, 0xbf}, /* U+FEFF, the byte order mark */
    {"\xef\xbf", 0xbe, 0xbf}, /* noncharacters U+FFFE and U+FFFF */
};

static bool is_printable(const char *character, size_t length)
{
    unsigned char last = (unsigned char)character[length - 1];

    if (length == 1)
        return last >= 0x20 && last != 0x7f;
    for (size_t i = 0; i < ARRAY_SIZE(unprintable); i++)
        if (length == strlen(unprintable[i].first) + 1 && memcmp(character, unprintable[i].first, length - 1) == 0 &&
            last >= unprintable[i].last_low && last <= unprintable[i].last_high)
            return false;
    return true;
}

size_t utf8_printable_character(const char *text, size_t size)
{
    size_t length = utf8_character(text, size);

    return length && is_printable(text, length) ? length : 0;
}

size_t utf8_printable_prefix(const char *text, size_t size)
{
    size_t offset = 0, length;

    while (offset < size && (length = utf8_printable_character(text + offset, size - offset)) > 0)
        offset += length;
    return offset;
}

size_t utf8_copy_printable(char *to, size_t room, const char *text, size_t size)
{
    size_t n = 0;

    for (size_t at = 0; at < size;) {
        size_t length = utf8_printable_character(text + at, size - at);
        size_t part = length ? length : strlen(UTF8_REPLACEMENT);
        if (n + part >= room)
            break;
        memcpy(to + n, length ? text + at : UTF8_REPLACEMENT, part);
        n += part;
        at += MAX(length, (size_t)1);
    }
    to[n] = '\0';
    return n;
}

/* --- escaping --- */

/* The kinds of characters that each format escapes. */
static const struct {
    bool backslash;
    bool quote;
    bool line_feed; /* as \n */
    bool markup;    /* & < > and quotes, as character references */
} dialects[] = {
    [ESCAPE_TEXT_HELP] = {.backslash = true, .line_feed = true},
    [ESCAPE_OPENMETRICS_HELP] = {.backslash = true, .quote = true, .line_feed = true},
    [ESCAPE_LABEL] = {.backslash = true, .quote = true, .line_feed = true},
    [ESCAPE_JSON] = {.backslash = true, .quote = true},
    [ESCAPE_NOTHING] = {.backslash = false},
    [ESCAPE_XML] = {.markup = true},
};

static void append_ascii(struct buffer *buffer, char c, enum escape escape)
{
    if (c == '\\' && dialects[escape].backslash)
        buffer_append_text(buffer, "\\\\");
    else if (c == '"' && dialects[escape].quote)
        buffer_append_text(buffer, "\\\"");
    else if (dialects[escape].markup && strchr("&<>\"'", c))
        buffer_appendf(buffer, "&#%d;", c);
    else
        buffer_append_char(buffer, c);
}

#define EACH_BYTE(value) (UINT64_C(0x0101010101010101) * (value))

/* Whether one of the 8 bytes is below `limit`, which is at most 128. May also return true for bytes of 128 and more. */
static bool has_byte_below(uint64_t bytes, uint64_t limit)
{
    return (bytes - EACH_BYTE(limit)) & ~bytes & EACH_BYTE(0x80);
}

static bool are_plain(uint64_t bytes)
{
    return !((bytes | (bytes + EACH_BYTE(1))) & EACH_BYTE(0x80)) && !has_byte_below(bytes, 0x20) &&
           !has_byte_below(bytes ^ EACH_BYTE('"'), 1) && !has_byte_below(bytes ^ EACH_BYTE('\\'), 1);
}

size_t escape_plain_prefix(const char *text)
{
    size_t n = 0, size = strlen(text);

    for (uint64_t bytes; n + sizeof(bytes) <= size; n += sizeof(bytes)) {
        memcpy(&bytes, text + n, sizeof(bytes));
        if (!are_plain(bytes))
            break;
    }
    for (unsigned char c; (c = (unsigned char)text[n]) >= 0x20 && c < 0x7f && c != '"' && c != '\\';)
        n++;
    return n;
}

void escape_append(struct buffer *buffer, const char *text, enum escape escape)
{
    size_t size = strlen(text);

    for (size_t at = 0; at < size;) {
        size_t length = utf8_printable_character(text + at, size - at);
        if (length == 1)
            append_ascii(buffer, text[at], escape);
        else if (length > 1)
            buffer_append(buffer, text + at, length);
        else if (text[at] == '\n' && dialects[escape].line_feed)
            buffer_append_text(buffer, "\\n");
        else
            buffer_append_text(buffer, UTF8_REPLACEMENT);
        at += MAX(length, (size_t)1);
    }
}

void escape_append_url(struct buffer *buffer, const char *text)
{
    for (; *text; text++)
        buffer_appendf(buffer, isalnum((unsigned char)*text) || strchr("-./", *text) ? "%c" : "%%%02X",
                       (unsigned char)*text);
}

void escape_append_printable(struct buffer *buffer, const char *text)
{
    size_t size = strlen(text);

    for (size_t at = 0; at < size; at++) {
        size_t printable = utf8_printable_prefix(text + at, size - at);
        buffer_append(buffer, text + at, printable);
        at += printable;
        if (at < size)
            buffer_appendf(buffer, "\\x%02x", (unsigned char)text[at]);
    }
}

/* --- suggestions --- */

#define LENGTH_MAX 64      /* in bytes; longer names are not compared */
#define ABBREVIATION_MIN 4 /* length from which a prefix counts as an abbreviation */

static char fold(char c)
{
    return c == '_' ? '-' : (char)tolower((unsigned char)c);
}

/* Optimal string alignment distance: an insertion, deletion, substitution or swap of neighbours costs 1. */
static unsigned distance(const char *a, size_t a_size, const char *b, size_t b_size)
{
    unsigned rows[3][LENGTH_MAX + 1];
    unsigned *before = rows[0], *above = rows[1], *row = rows[2];

    for (size_t k = 0; k <= b_size; k++)
        above[k] = (unsigned)k;
    for (size_t i = 1; i <= a_size; i++) {
        row[0] = (unsigned)i;
        for (size_t k = 1; k <= b_size; k++) {
            unsigned cost = fold(a[i - 1]) != fold(b[k - 1]);
            row[k] = MIN(MIN(above[k] + 1, row[k - 1] + 1), above[k - 1] + cost);
            if (i > 1 && k > 1 && fold(a[i - 1]) == fold(b[k - 2]) && fold(a[i - 2]) == fold(b[k - 1]))
                row[k] = MIN(row[k], before[k - 2] + 1);
        }
        unsigned *oldest = before;
        before = above;
        above = row;
        row = oldest;
    }
    return above[b_size];
}

void suggest_consider(struct suggest *suggest, const char *candidate)
{
    size_t wrong_size = strlen(suggest->wrong), size = strlen(candidate), at;

    if (wrong_size > LENGTH_MAX || size > LENGTH_MAX)
        return;
    unsigned d = distance(suggest->wrong, wrong_size, candidate, size);
    /* An abbreviation counts as near, no matter how much of the name is missing. */
    if (wrong_size >= ABBREVIATION_MIN && strncasecmp(suggest->wrong, candidate, wrong_size) == 0)
        d = MIN(d, 2u);
    if (d > (wrong_size - strspn(suggest->wrong, "-")) / 3 + 1) /* the leading dashes of a flag are not counted */
        return;
    for (at = 0; at < suggest->n; at++) {
        if (str_equal(suggest->names[at], candidate))
            return;
        if (d < suggest->distances[at])
            break;
    }
    if (at == SUGGEST_MAX)
        return;
    size_t moved = MIN(suggest->n, (size_t)SUGGEST_MAX - 1) - at;
    memmove(&suggest->names[at + 1], &suggest->names[at], moved * sizeof(suggest->names[0]));
    memmove(&suggest->distances[at + 1], &suggest->distances[at], moved * sizeof(suggest->distances[0]));
    suggest->names[at] = candidate;
    suggest->distances[at] = d;
    suggest->n = MIN(suggest->n + 1, (size_t)SUGGEST_MAX);
}

bool text_has_colour(int fd)
{
    const char *none = getenv("NO_COLOR"), *terminal = getenv("TERM");

    return isatty(fd) && (!none || !*none) && (!terminal || !str_equal(terminal, "dumb"));
}

const char *suggest_format(const struct suggest *suggest, char *text, size_t size)
{
    size_t used = 0;

    text[0] = '\0';
    for (size_t i = 0; i < suggest->n && used < size; i++) {
        const char *before = i == 0 ? "; did you mean " : ", ";
        used += (size_t)snprintf(text + used, size - used, "%s\"%s\"", before, suggest->names[i]);
    }
    if (suggest->n && used < size)
        snprintf(text + used, size - used, "?");
    return text;
}
