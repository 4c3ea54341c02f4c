/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text as a terminal may get it. Names are written by strangers: a control character, an escape sequence, invalid
 * UTF-8 and characters that take no column become "?". Widths are in columns of the terminal.
 */
#ifndef TOP_TEXT_H
#define TOP_TEXT_H

#include "base/buffer.h"

/* Appends as much of `text` as fits `width` columns, by the locale of the process. Returns the columns taken. */
size_t top_text_append(struct buffer *out, const char *text, size_t width);
/* The columns that all of it takes. */
size_t top_text_width(const char *text);
/* Appends `text` with its middle replaced by ".." where it does not fit. Returns the columns taken. */
size_t top_text_append_short(struct buffer *out, const char *text, size_t width);

#endif
