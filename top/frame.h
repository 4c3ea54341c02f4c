/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text as a terminal may get it. Names are written by strangers: a control character, an escape sequence, invalid
 * UTF-8 and characters that take no column become "?". Widths are in columns of the terminal.
 *
 * A screen full of text, line by line, before it goes to a terminal or a pipe: pieces of text with a style. Each text
 * passes through top-text.h and is cut at the right edge.
 */
#ifndef TOP_FRAME_H
#define TOP_FRAME_H

#include <stdio.h>

#include "base/buffer.h"

/* Appends as much of `text` as fits `width` columns, by the locale of the process. Returns the columns taken. */
size_t top_text_append(struct buffer *out, const char *text, size_t width);
/* The columns that all of it takes. */
size_t top_text_width(const char *text);
/* Appends `text` with its middle replaced by ".." where it does not fit. Returns the columns taken. */
size_t top_text_append_short(struct buffer *out, const char *text, size_t width);

enum top_style { TOP_PLAIN, TOP_BOLD, TOP_DIM, TOP_WARNING, TOP_TITLE, TOP_TITLE_SORTED };

struct top_piece {
    unsigned line; /* from 0 */
    enum top_style style;
    size_t offset, size; /* in `text` */
};

/* Zeroed but for `width` and `height`. */
struct top_frame {
    size_t width, height; /* height 0: no end */
    struct buffer text;
    struct top_piece *pieces;
    size_t n;
    unsigned line;
    size_t column;
    bool failed; /* out of memory */
};

void top_frame_done(struct top_frame *frame);
/* The next text begins the next line. */
void top_frame_next(struct top_frame *frame);

void top_frame_append(struct top_frame *frame, enum top_style style, const char *text);
void top_frame_appendf(struct top_frame *frame, enum top_style style, const char *format, ...) PRINTF_LIKE(3, 4);
/* In a field of `width` columns: to the left, with its middle left out where it does not fit; or to the right. */
void top_frame_append_left(struct top_frame *frame, enum top_style style, const char *text, size_t width);
void top_frame_append_right(struct top_frame *frame, enum top_style style, const char *text, size_t width);

/* As plain lines without blanks at their ends. */
void top_frame_print(const struct top_frame *frame, FILE *file);

#endif
