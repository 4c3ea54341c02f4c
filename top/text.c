/* SPDX-License-Identifier: Apache-2.0 */
/* Text as a terminal may get it: see top-text.h. */
#include "top/text.h"

#include <langinfo.h>
#include <wchar.h>

#include "base/utf8.h"

/* A character of a text, and what is shown for it. */
struct top_character {
    const char *bytes;
    size_t size, taken; /* to show; of the text */
    size_t width;
};

static wchar_t decode_character(const char *text, size_t size)
{
    static const unsigned char masks[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
    uint32_t value = (unsigned char)text[0] & masks[size];

    for (size_t i = 1; i < size; i++)
        value = value << 6 | ((unsigned char)text[i] & 0x3f);
    return (wchar_t)value;
}

static struct top_character next_character(const char *text)
{
    size_t size = utf8_character(text, strnlen(text, 4));
    /* In a locale of another coding the bytes of UTF-8 would be other characters. */
    bool shown = size == 1 || (size > 1 && str_equal(nl_langinfo(CODESET), "UTF-8"));
    int width = shown && utf8_printable_prefix(text, size) == size ? wcwidth(decode_character(text, size)) : -1;

    if (width <= 0)
        return (struct top_character){"?", 1, size ? size : 1, 1};
    return (struct top_character){text, size, size, (size_t)width};
}

size_t top_text_append(struct buffer *out, const char *text, size_t width)
{
    size_t used = 0;

    while (*text) {
        struct top_character next = next_character(text);
        if (used + next.width > width)
            break;
        buffer_append(out, next.bytes, next.size);
        used += next.width;
        text += next.taken;
    }
    return used;
}

size_t top_text_width(const char *text)
{
    size_t width = 0;

    while (*text) {
        struct top_character next = next_character(text);
        width += next.width;
        text += next.taken;
    }
    return width;
}

/* The end of `text` that takes at most `width` columns. */
static const char *text_tail(const char *text, size_t width)
{
    for (size_t left = top_text_width(text); left > width;) {
        struct top_character next = next_character(text);
        left -= next.width;
        text += next.taken;
    }
    return text;
}

size_t top_text_append_short(struct buffer *out, const char *text, size_t width)
{
    if (width < 4 || top_text_width(text) <= width)
        return top_text_append(out, text, width);
    /* The end of a path says more than its beginning. */
    size_t used = top_text_append(out, text, (width - 2) / 3);
    used += top_text_append(out, "..", 2);
    return used + top_text_append(out, text_tail(text, width - used), width - used);
}
