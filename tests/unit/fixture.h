/* SPDX-License-Identifier: Apache-2.0 */
/* Files of the source tree that tests read. A file that cannot be read fails the test. */
#ifndef TESTS_UNIT_FIXTURE_H
#define TESTS_UNIT_FIXTURE_H

#include <stddef.h>

#include "base/error.h"

/* Where `name`, relative to the top of the source tree, is. Returns `path`. */
const char *fixture_path(const char *name, char path[512]);

/* The text of such a file, NUL-terminated; the caller frees it. */
char *fixture_read(const char *name);

/* Calls `check` with the path of each file that matches the pattern. Returns how many. */
size_t fixture_each(const char *pattern, void (*check)(const char *path));

/* Asserts that the file beside `path`, with `suffix` in place of ".yml" or the like, is `text` and a newline. */
void fixture_expect(const char *path, const char *suffix, const char *text);

/* A case of a table; tests/config/errors.txt describes the format. */
struct fixture_case {
    const char *name;
    char *input; /* NUL-terminated, but may contain NUL */
    size_t size;
    char *expected; /* without the last newline */
};

/* Calls `check` for each row of the table; an empty table fails. */
void fixture_cases(const char *table, void (*check)(const struct fixture_case *test));

/* config_load() or the like; with NULL for `errors` it stops at the first error. */
typedef int (*fixture_load)(const char *path, struct error_list *errors, struct error *error);

/* Asserts that `load` finds exactly the expected errors in a file of the input, and stops at one of them. */
void fixture_refused(const struct fixture_case *test, fixture_load load);

#endif
