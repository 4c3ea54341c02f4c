/* SPDX-License-Identifier: Apache-2.0 */
/* Texts, each once, numbered from 0 as they come; number 0 is "". Bounded. What is no UTF-8 becomes U+FFFD. */
#ifndef FORMATS_STRINGS_H
#define FORMATS_STRINGS_H

#include "base/buffer.h"
#include "base/slots.h"

#define STRINGS_MAX 24576
#define STRINGS_BYTES_MAX ((size_t)512 << 10)

struct strings {
    struct buffer bytes; /* with their NULs */
    uint32_t *offsets;
    size_t n;
    struct slots slots;
};

int strings_init(struct strings *strings);
void strings_done(struct strings *strings);
/* -ENOSPC where it is full. */
int strings_add(struct strings *strings, const char *text, uint32_t *ret);
/* Valid until the next strings_add(). */
static inline const char *strings_text(const struct strings *strings, uint32_t number)
{
    return strings->bytes.data + strings->offsets[number];
}

#endif
