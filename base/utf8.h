/* SPDX-License-Identifier: Apache-2.0 */
/* UTF-8 (RFC 3629): whether a text is it, and whether it is fit to be shown in one line. */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H

#include "base/util.h"

/* The length of the well-formed character at `text` (of `size` bytes), 0 where there is none. */
size_t utf8_character(const char *text, size_t size);
/* The offset of the first byte that is not part of well-formed UTF-8; `size` where all is well. */
size_t utf8_valid_prefix(const char *text, size_t size);
/*
 * The offset of the first byte that is not part of a printable character; `size` where all is well. Not printable are
 * bytes that are no UTF-8, controls, line breaks of any kind, the byte order mark and noncharacters.
 */
size_t utf8_printable_prefix(const char *text, size_t size);

#endif
