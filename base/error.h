/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An error that a person must fix: one full sentence and, if the cause is in parsed text, its position there.
 *
 * A function that takes a `struct error *` returns 0 or -errno and fills the error only on failure. The pointer to the
 * error may be NULL. The caller decides whether to log the error.
 */
#ifndef BASE_ERROR_H
#define BASE_ERROR_H

#include <stdarg.h>
#include <stddef.h>

#include "base/text.h"
#include "base/util.h"

struct error {
    unsigned line, column; /* counted from 1, or 0 if the cause is not in a file */
    size_t offset;         /* byte offset of the offending character in the parsed string */
    char message[512];     /* printable UTF-8 without a final full stop; longer messages are truncated */
};

/* Sets the message and clears the position. Returns `code`, a negative errno, for use as `return error_set(...)`. */
int error_set(struct error *error, int code, const char *format, ...) PRINTF_LIKE(3, 4);
/* Like error_set(), but also records the byte `offset` of the cause in the parsed string. */
int error_set_at(struct error *error, int code, size_t offset, const char *format, ...) PRINTF_LIKE(4, 5);
/* Sets "out of memory" and returns -ENOMEM. */
int error_oom(struct error *error);
/* Sets "cannot write PATH: No space left on device" for the verb "write" and -ENOSPC. Returns `code`. */
int error_of_file(struct error *error, int code, const char *verb, const char *path);
/* Sets the line and the column, both counted from 1. */
void error_set_position(struct error *error, unsigned line, unsigned column);
/* Returns "EACCES" for -EACCES, and "EUNKNOWN" for a number without a name. */
const char *error_name(int error);
/* Prepends the formatted text and ": " to the message. The position stays unchanged. */
void error_prefix(struct error *error, const char *format, ...) PRINTF_LIKE(2, 3);

/* A list holds at most this many errors; more would not help the reader. */
#define ERROR_LIST_MAX 64

/* All errors in one input, so that a person can fix them in one go. A zeroed list is empty. */
struct error_list {
    struct error *items;
    size_t n;
};

void error_list_done(struct error_list *list);
/* Adds a copy of the error. Returns -ENOSPC if the list is full, or -ENOMEM. */
int error_list_add(struct error_list *list, const struct error *error);
/* Sorts by line and column. */
void error_list_sort(struct error_list *list);

/*
 * Builds the error for an unknown name: it suggests the nearest known names and lists the known ones. Start with
 * {.suggest.wrong = NAME}, pass every known name to unknown_consider(), then call unknown_error().
 */
struct unknown {
    struct suggest suggest;
    const char **known; /* borrowed; each name once, in order of arrival */
    size_t n;
    bool failed; /* out of memory; the message then omits the list */
};

void unknown_done(struct unknown *unknown);
/* Adds a known name, which must outlive the struct. A repeated name is ignored. */
void unknown_consider(struct unknown *unknown, const char *name);
/*
 * Sets the message to the formatted text, followed by `; did you mean "a"? Known are a, b, c` or by `; known are a, b,
 * c`. Returns -EINVAL.
 */
int unknown_error(const struct unknown *unknown, struct error *error, const char *format, ...) PRINTF_LIKE(3, 4);

#endif
