/* SPDX-License-Identifier: Apache-2.0 */
#include "top/frame.h"

#include <langinfo.h>
#include <stdarg.h>
#include <wchar.h>

#include "base/text.h"

/* --- safe text --- */

/* What to write for a character: its bytes, or "?" if it is unsafe. */
struct top_character {
    const char *bytes;
    size_t size, taken; /* length of `bytes`; length of the character in the input text */
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
    /* In a locale with another encoding, the terminal would show the bytes of UTF-8 as other characters. */
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

/* Returns the longest tail of `text` that takes at most `width` columns. */
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
    /* The tail gets two thirds of the room, because the end of a path says more than the beginning. */
    size_t used = top_text_append(out, text, (width - 2) / 3);
    used += top_text_append(out, "..", 2);
    return used + top_text_append(out, text_tail(text, width - used), width - used);
}

/* --- frame --- */

void top_frame_done(struct top_frame *frame)
{
    buffer_done(&frame->text);
    free(frame->pieces);
    *frame = (struct top_frame){0};
}

void top_frame_next(struct top_frame *frame)
{
    frame->line++;
    frame->column = 0;
}

static bool top_frame_is_full(const struct top_frame *frame)
{
    return frame->height && frame->line >= frame->height;
}

/*
 * Starts a piece at the end of the frame's text. Returns false if the piece would be outside of the frame, or when out
 * of memory.
 */
static bool begin_piece(struct top_frame *frame, enum top_style style)
{
    if (top_frame_is_full(frame) || frame->column >= frame->width)
        return false;
    if (array_grow(&frame->pieces, frame->n) < 0) {
        frame->failed = true;
        return false;
    }
    frame->pieces[frame->n++] = (struct top_piece){.line = frame->line, .style = style, .offset = frame->text.size};
    return true;
}

static void end_piece(struct top_frame *frame, size_t columns)
{
    struct top_piece *piece = &frame->pieces[frame->n - 1];

    frame->column += columns;
    piece->size = frame->text.size - piece->offset;
    frame->failed |= frame->text.failed;
}

void top_frame_append(struct top_frame *frame, enum top_style style, const char *text)
{
    if (begin_piece(frame, style))
        end_piece(frame, top_text_append(&frame->text, text, frame->width - frame->column));
}

void top_frame_appendf(struct top_frame *frame, enum top_style style, const char *format, ...)
{
    char text[512];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    top_frame_append(frame, style, text);
}

static void append_blanks(struct top_frame *frame, size_t n)
{
    while (n-- > 0)
        buffer_append_char(&frame->text, ' ');
}

void top_frame_append_left(struct top_frame *frame, enum top_style style, const char *text, size_t width)
{
    width = MIN(width, frame->width - MIN(frame->column, frame->width));
    if (!begin_piece(frame, style))
        return;
    size_t used = top_text_append_short(&frame->text, text, width);
    append_blanks(frame, width - used);
    end_piece(frame, width);
}

void top_frame_append_right(struct top_frame *frame, enum top_style style, const char *text, size_t width)
{
    width = MIN(width, frame->width - MIN(frame->column, frame->width));
    if (!begin_piece(frame, style))
        return;
    append_blanks(frame, width - MIN(width, top_text_width(text)));
    top_text_append(&frame->text, text, width);
    end_piece(frame, width);
}

void top_frame_print(const struct top_frame *frame, FILE *file)
{
    unsigned line = 0;
    size_t blanks = 0;

    for (size_t i = 0; i < frame->n; i++) {
        const struct top_piece *piece = &frame->pieces[i];
        for (; line < piece->line; line++, blanks = 0)
            fputc('\n', file);
        for (size_t k = 0; k < piece->size; k++) {
            char c = frame->text.data[piece->offset + k];
            if (c == ' ') {
                blanks++;
                continue;
            }
            fprintf(file, "%*s%c", (int)blanks, "", c);
            blanks = 0;
        }
    }
    for (; line < frame->line; line++)
        fputc('\n', file);
}
