/* SPDX-License-Identifier: Apache-2.0 */
/* A screen full of text: see top-frame.h. */
#include "top/frame.h"

#include <stdarg.h>

#include "top/text.h"

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

bool top_frame_is_full(const struct top_frame *frame)
{
    return frame->height && frame->line >= frame->height;
}

/* Begins a piece at the end of the text. false where nothing is seen of it. */
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
