/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An error as errno, one sentence and a position; lists of errors; "unknown X; did you mean Y?".
 *
 * An error that a person must fix: one full sentence and, where the cause is in a text, its position there.
 *
 * Functions return 0 or -errno, and fill the error that they were given (which may be NULL) only on failure. The caller
 * decides whether to log it.
 *
 * Several errors of one text, for a person who wants to fix all of them at once.
 *
 * The error about a name that nobody knows: it suggests the nearest of the names that are known, and lists them.
 *
 * Each known name is considered once; then the sentence is made.
 */
#ifndef BASE_ERROR_H
#define BASE_ERROR_H

#include <stdarg.h>
#include <stddef.h>

#include "base/text.h"
#include "base/util.h"

struct error {
    unsigned line, column; /* from 1; 0 where the cause is not in a file */
    size_t offset;         /* in bytes, where the cause is at one character of a parsed text */
    char message[512];     /* printable UTF-8, without a full stop at its end; cut off if it is longer */
};

/*
 * Sets the message, clears the position, and returns `code` (a negative errno), so that `return error_set(...)` reads
 * well.
 */
int error_set(struct error *error, int code, const char *format, ...) PRINTF_LIKE(3, 4);
/* The same for a cause at byte `offset` of a text. */
int error_set_at(struct error *error, int code, size_t offset, const char *format, ...) PRINTF_LIKE(4, 5);
/* -ENOMEM, with its sentence. */
int error_oom(struct error *error);
/* Sets the line and the column, both from 1. */
void error_set_position(struct error *error, unsigned line, unsigned column);
/* "EACCES" for -EACCES; "EUNKNOWN" for a number that has no name. */
const char *error_name(int error);
/* Puts "text: " before the message; keeps the position. */
void error_prefix(struct error *error, const char *format, ...) PRINTF_LIKE(2, 3);

/* More help nobody. */
#define ERROR_LIST_MAX 64

/* Embedded; a zeroed one is empty. */
struct error_list {
    struct error *items;
    size_t n;
};

void error_list_done(struct error_list *list);
/* -ENOSPC where it is full; -ENOMEM. */
int error_list_add(struct error_list *list, const struct error *error);
/* By line and column. */
void error_list_sort(struct error_list *list);

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
