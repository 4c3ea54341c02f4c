/* SPDX-License-Identifier: Apache-2.0 */
/* "Did you mean": see suggest.h. */
#include "base/suggest.h"

#include <ctype.h>
#include <stdio.h>
#include <strings.h>

#define LENGTH_MAX 64
#define ABBREVIATION_MIN 4

static char fold(char c)
{
    return c == '_' ? '-' : (char)tolower((unsigned char)c);
}

/* Optimal string alignment: insertions, deletions, substitutions and swaps of neighbours cost 1 each. */
static unsigned distance(const char *a, size_t a_size, const char *b, size_t b_size)
{
    unsigned rows[3][LENGTH_MAX + 1];
    unsigned *before = rows[0], *above = rows[1], *row = rows[2];

    for (size_t k = 0; k <= b_size; k++)
        above[k] = (unsigned)k;
    for (size_t i = 1; i <= a_size; i++) {
        row[0] = (unsigned)i;
        for (size_t k = 1; k <= b_size; k++) {
            unsigned cost = fold(a[i - 1]) != fold(b[k - 1]);
            row[k] = MIN(MIN(above[k] + 1, row[k - 1] + 1), above[k - 1] + cost);
            if (i > 1 && k > 1 && fold(a[i - 1]) == fold(b[k - 2]) && fold(a[i - 2]) == fold(b[k - 1]))
                row[k] = MIN(row[k], before[k - 2] + 1);
        }
        unsigned *oldest = before;
        before = above;
        above = row;
        row = oldest;
    }
    return above[b_size];
}

void suggest_consider(struct suggest *suggest, const char *candidate)
{
    size_t wrong_size = strlen(suggest->wrong), size = strlen(candidate), at;

    if (wrong_size > LENGTH_MAX || size > LENGTH_MAX)
        return;
    unsigned d = distance(suggest->wrong, wrong_size, candidate, size);
    /* A name whose end is left off means the whole name. */
    if (wrong_size >= ABBREVIATION_MIN && strncasecmp(suggest->wrong, candidate, wrong_size) == 0)
        d = MIN(d, 2u);
    if (d > wrong_size / 3 + 1)
        return;
    for (at = 0; at < suggest->n; at++) {
        if (str_equal(suggest->names[at], candidate))
            return;
        if (d < suggest->distances[at])
            break;
    }
    if (at == SUGGEST_MAX)
        return;
    size_t moved = MIN(suggest->n, (size_t)SUGGEST_MAX - 1) - at;
    memmove(&suggest->names[at + 1], &suggest->names[at], moved * sizeof(suggest->names[0]));
    memmove(&suggest->distances[at + 1], &suggest->distances[at], moved * sizeof(suggest->distances[0]));
    suggest->names[at] = candidate;
    suggest->distances[at] = d;
    suggest->n = MIN(suggest->n + 1, (size_t)SUGGEST_MAX);
}

const char *suggest_format(const struct suggest *suggest, char *text, size_t size)
{
    size_t used = 0;

    text[0] = '\0';
    for (size_t i = 0; i < suggest->n && used < size; i++) {
        const char *before = i == 0 ? "; did you mean " : ", ";
        used += (size_t)snprintf(text + used, size - used, "%s\"%s\"", before, suggest->names[i]);
    }
    if (suggest->n && used < size)
        snprintf(text + used, size - used, "?");
    return text;
}
