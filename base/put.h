/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes put one behind the other into memory that was reserved for all of them. Returns the place for the next ones. */
#ifndef BASE_PUT_H
#define BASE_PUT_H

#include <string.h>

static inline char *put_bytes(char *to, const void *data, size_t size)
{
    memcpy(to, data, size);
    return to + size;
}

static inline char *put_text(char *to, const char *text)
{
    return put_bytes(to, text, strlen(text));
}

#endif
