/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A frame is the text of one screen, line by line, before it goes to a terminal or a pipe. It consists of styled pieces
 * of text. Each line is cut at the right edge of the frame.
 *
 * Names come from untrusted users, so all text is made safe for a terminal: control characters, escape sequences,
 * invalid UTF-8 and characters without a width become "?". Widths are in columns of the terminal, in the locale of the
 * process.
 */
#ifndef TOP_FRAME_H
#define TOP_FRAME_H

#include <stdio.h>

#include "base/buffer.h"

/* Appends as much of `text` as fits in `width` columns. Returns the number of columns used. */
size_t top_text_append(struct buffer *out, const char *text, size_t width);
/* Returns the display width in columns of the text that top_text_append() would write. */
size_t top_text_width(const char *text);
/* Appends `text`; if the text is wider than `width`, ".." replaces its middle. Returns the number of columns used. */
size_t top_text_append_short(struct buffer *out, const char *text, size_t width);

enum top_style { TOP_PLAIN, TOP_BOLD, TOP_DIM, TOP_WARNING, TOP_TITLE, TOP_TITLE_SORTED };

struct top_piece {
    unsigned line; /* from 0 */
    enum top_style style;
    size_t offset, size; /* position of the piece in the frame's `text` */
};

/* The owner sets `width` and `height`, and zeroes the other members. */
struct top_frame {
    size_t width, height; /* size in columns and lines; a height of 0 means any number of lines */
    struct buffer text;
    struct top_piece *pieces;
    size_t n;
    unsigned line;
    size_t column;
    bool failed; /* memory ran out while the frame was drawn */
};

void top_frame_done(struct top_frame *frame);
/* Ends the current line of the frame; the next text begins a new line. */
void top_frame_next(struct top_frame *frame);

void top_frame_append(struct top_frame *frame, enum top_style style, const char *text);
void top_frame_appendf(struct top_frame *frame, enum top_style style, const char *format, ...) PRINTF_LIKE(3, 4);
/* Append a field of `width` columns. If left-aligned text does not fit, its middle is left out. */
void top_frame_append_left(struct top_frame *frame, enum top_style style, const char *text, size_t width);
void top_frame_append_right(struct top_frame *frame, enum top_style style, const char *text, size_t width);

/* Prints the frame as lines of plain text, without trailing blanks. */
void top_frame_print(const struct top_frame *frame, FILE *file);

#endif
