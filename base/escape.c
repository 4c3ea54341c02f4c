/* SPDX-License-Identifier: Apache-2.0 */
/* Escaping of a text: see escape.h. */
#include "base/escape.h"

#include "base/utf8.h"

static const struct {
    bool backslash;
    bool quote;
    bool line_feed; /* as \n */
} dialects[] = {
    [ESCAPE_TEXT_HELP] = {.backslash = true, .line_feed = true},
    [ESCAPE_OPENMETRICS_HELP] = {.backslash = true, .quote = true, .line_feed = true},
    [ESCAPE_LABEL] = {.backslash = true, .quote = true, .line_feed = true},
    [ESCAPE_JSON] = {.backslash = true, .quote = true},
    [ESCAPE_NOTHING] = {.backslash = false},
};

static void append_ascii(struct buffer *buffer, char c, enum escape escape)
{
    if (c == '\\' && dialects[escape].backslash)
        buffer_append_text(buffer, "\\\\");
    else if (c == '"' && dialects[escape].quote)
        buffer_append_text(buffer, "\\\"");
    else
        buffer_append_char(buffer, c);
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
