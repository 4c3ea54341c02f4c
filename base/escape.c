/* SPDX-License-Identifier: Apache-2.0 */
/* Escaping of a text: see escape.h. */
#include "base/escape.h"

#include "base/utf8.h"

static const struct {
    bool backslash; /* and the line feed, as \n */
    bool quote;
    bool controls; /* all other characters below U+0020, as \u00XX */
} dialects[] = {
    [ESCAPE_TEXT_HELP] = {.backslash = true},
    [ESCAPE_OPENMETRICS_HELP] = {.backslash = true, .quote = true},
    [ESCAPE_LABEL] = {.backslash = true, .quote = true},
    [ESCAPE_JSON] = {.backslash = true, .quote = true, .controls = true},
    [ESCAPE_NOTHING] = {.backslash = false},
};

static void append_ascii(struct buffer *buffer, char c, enum escape escape)
{
    if (c == '\\' && dialects[escape].backslash)
        buffer_append_text(buffer, "\\\\");
    else if (c == '\n' && dialects[escape].backslash)
        buffer_append_text(buffer, "\\n");
    else if (c == '"' && dialects[escape].quote)
        buffer_append_text(buffer, "\\\"");
    else if ((unsigned char)c < 0x20 && dialects[escape].controls)
        buffer_appendf(buffer, "\\u%04x", (unsigned char)c);
    else
        buffer_append_char(buffer, c);
}

void escape_append(struct buffer *buffer, const char *text, enum escape escape)
{
    size_t size = strlen(text);

    for (size_t at = 0; at < size;) {
        size_t length = utf8_character(text + at, size - at);
        if (length == 1)
            append_ascii(buffer, text[at], escape);
        else if (length > 1)
            buffer_append(buffer, text + at, length);
        else
            buffer_append_text(buffer, "\xef\xbf\xbd");
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
