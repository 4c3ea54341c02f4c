/* SPDX-License-Identifier: Apache-2.0 */
/*
 * "Did you mean": the known names that are nearest to a wrong one, by edit distance with transpositions, ignoring case;
 * also names that the wrong one abbreviates.
 */
#ifndef BASE_SUGGEST_H
#define BASE_SUGGEST_H

#include "base/util.h"

#define SUGGEST_MAX 3

struct suggest {
    const char *wrong;
    size_t n;
    const char *names[SUGGEST_MAX]; /* nearest first; borrowed from the candidates */
    unsigned distances[SUGGEST_MAX];
};

/* Considers one more candidate, whose text must outlive the suggestion. */
void suggest_consider(struct suggest *suggest, const char *candidate);
/* `; did you mean "a", "b"?`, or "" where nothing is near enough. `text` is always NUL-terminated. */
const char *suggest_format(const struct suggest *suggest, char *text, size_t size);

#endif
