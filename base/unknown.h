/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The error about a name that nobody knows: it suggests the nearest of the names that are known, and lists them.
 *
 * Each known name is considered once; then the sentence is made.
 */
#ifndef BASE_UNKNOWN_H
#define BASE_UNKNOWN_H

#include "base/error.h"
#include "base/suggest.h"

/* Embedded: begins as {.suggest.wrong = NAME}. */
struct unknown {
    struct suggest suggest;
    const char **known; /* each name once, in the order in which they came */
    size_t n;
    bool failed; /* out of memory: the sentence lists nothing */
};

void unknown_done(struct unknown *unknown);
/* Considers one more name, whose text must outlive the struct. One that was considered before changes nothing. */
void unknown_consider(struct unknown *unknown, const char *name);
/* -EINVAL: the sentence of `format`, then `; did you mean "a"? Known are a, b, c`, or `; known are a, b, c`. */
int unknown_error(const struct unknown *unknown, struct error *error, const char *format, ...) PRINTF_LIKE(3, 4);

#endif
