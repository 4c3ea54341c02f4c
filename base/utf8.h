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
 * The offset of the first byte that is not part of a printable character; `size` where all bytes are. Invalid UTF-8,
 * controls, line breaks of any kind, the byte order mark and noncharacters are not printable.
 */
size_t utf8_printable_prefix(const char *text, size_t size);

#endif
