/* SPDX-License-Identifier: Apache-2.0 */
/* UTF-8 (RFC 3629): whether a text is valid, and whether it can be shown in one line. */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H

#include "base/util.h"

/* The length of the valid character at the start of `text` (of `size` bytes), 0 where there is none. */
size_t utf8_character(const char *text, size_t size);
/* The offset of the first byte that is not valid UTF-8; `size` where all bytes are. */
size_t utf8_valid_prefix(const char *text, size_t size);
/*
 * The length of the printable character at the start of `text`, 0 where there is none. Invalid UTF-8, controls (C0,
 * DEL, C1), line breaks of any kind, the byte order mark and noncharacters are not printable: a terminal obeys some of
 * them.
 */
size_t utf8_printable_character(const char *text, size_t size);
/* The offset of the first byte that is not part of a printable character; `size` where all bytes are. */
size_t utf8_printable_prefix(const char *text, size_t size);

/* U+FFFD, which stands for a byte that is not part of a printable character. */
#define UTF8_REPLACEMENT "\xef\xbf\xbd"

/*
 * Copies the first `size` bytes of `text`, each byte that is not part of a printable character as U+FFFD, into `room`
 * bytes with a NUL, cut at the end of a character. Returns the length of the copy.
 */
size_t utf8_copy_printable(char *to, size_t room, const char *text, size_t size);

#endif
