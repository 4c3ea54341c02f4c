/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A frame: the text of one screen, line by line, before it goes to a terminal or a pipe. It consists of pieces of text
 * with a style. Each line is cut at the right edge.
 *
 * Names are written by strangers, so every text is made safe for a terminal: control characters, escape sequences,
 * invalid UTF-8 and characters without a width become "?". Widths are in columns of the terminal, in the locale of the
 * process.
 */
#ifndef TOP_FRAME_H
#define TOP_FRAME_H

#include <stdio.h>

#include "base/buffer.h"

/* Appends as much of `text` as fits in `width` columns. Returns the columns taken. */
size_t top_text_append(struct buffer *out, const char *text, size_t width);
/* Display width in columns, of the text as top_text_append() would write it. */
size_t top_text_width(const char *text);
/* Appends `text`, with its middle replaced by ".." if it is wider than `width`. Returns the columns taken. */
size_t top_text_append_short(struct buffer *out, const char *text, size_t width);

enum top_style { TOP_PLAIN, TOP_BOLD, TOP_DIM, TOP_WARNING, TOP_TITLE, TOP_TITLE_SORTED };

struct top_piece {
    unsigned line; /* from 0 */
    enum top_style style;
    size_t offset, size; /* in the frame's `text` */
};

/* Zero-initialised except for `width` and `height`. */
struct top_frame {
    size_t width, height; /* `height` 0: no limit */
    struct buffer text;
    struct top_piece *pieces;
    size_t n;
    unsigned line;
    size_t column;
    bool failed; /* out of memory */
};

void top_frame_done(struct top_frame *frame);
/* Ends the line: the next text starts the next one. */
void top_frame_next(struct top_frame *frame);

void top_frame_append(struct top_frame *frame, enum top_style style, const char *text);
void top_frame_appendf(struct top_frame *frame, enum top_style style, const char *format, ...) PRINTF_LIKE(3, 4);
/* Append a field of `width` columns: aligned left, its middle left out if it does not fit; or aligned right. */
void top_frame_append_left(struct top_frame *frame, enum top_style style, const char *text, size_t width);
void top_frame_append_right(struct top_frame *frame, enum top_style style, const char *text, size_t width);

/* Prints the frame as lines of plain text, without trailing blanks. */
void top_frame_print(const struct top_frame *frame, FILE *file);

#endif
