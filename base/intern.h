/* SPDX-License-Identifier: Apache-2.0 */
/* A set of few texts. Equal texts are held once, for as long as the set lives. */
#ifndef BASE_INTERN_H
#define BASE_INTERN_H

#include "base/util.h"

struct intern {
    char **texts; /* sorted */
    size_t n;
};

/* The set's own copy, the same for equal texts. NULL when out of memory. */
const char *intern_text(struct intern *intern, const char *text);
void intern_done(struct intern *intern);

/* The length of a set's copy, which is stored in front of it. */
static inline size_t intern_size(const char *text)
{
    size_t size;

    memcpy(&size, text - sizeof(size), sizeof(size));
    return size;
}

#endif
