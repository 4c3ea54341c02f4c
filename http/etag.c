/* SPDX-License-Identifier: Apache-2.0 */
/* The header If-None-Match: see etag.h. */
#include "http/etag.h"

bool etag_is_in(const char *etag, const char *if_none_match)
{
    const char *next = if_none_match + strspn(if_none_match, " \t,");

    if (*next == '*')
        return true;
    while (*next) {
        if (str_starts(next, "W/"))
            next += 2;
        const char *end = *next == '"' ? strchr(next + 1, '"') : NULL;
        if (!end)
            return false; /* malformed from here on */
        size_t size = (size_t)(end + 1 - next);
        if (size == strlen(etag) && memcmp(next, etag, size) == 0)
            return true;
        next = end + 1 + strspn(end + 1, " \t,");
    }
    return false;
}
