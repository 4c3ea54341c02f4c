/* SPDX-License-Identifier: Apache-2.0 */
/* Reads files of the source tree. A file that cannot be read fails the test. */
#ifndef TESTS_UNIT_TESTDATA_H
#define TESTS_UNIT_TESTDATA_H

#include <stddef.h>

#include "base/error.h"

/* Writes the path of `name`, which is relative to the top of the source tree, to `path`, and returns it. */
const char *testdata_path(const char *name, char path[512]);

/* Returns the NUL-terminated text of such a file; the caller frees it. */
char *testdata_read(const char *name);

/* Calls `check` with the path of each file that matches the pattern. Returns the number of files. */
size_t testdata_each(const char *pattern, void (*check)(const char *path));

/* Asserts that `text` and a newline are the content of the file at `path` with `suffix` in place of its own suffix. */
void testdata_expect(const char *path, const char *suffix, const char *text);

/* One case of a table of cases; tests/config/errors.txt describes the format. */
struct testdata_case {
    const char *name;
    char *input; /* NUL-terminated, but may contain NUL bytes as well */
    size_t size;
    char *expected; /* without the final newline */
};

/* Calls `check` for each case of the table. A table without cases fails the test. */
void testdata_cases(const char *table, void (*check)(const struct testdata_case *test));

/* A function like config_load(). If `errors` is NULL, the function stops at the first error. */
typedef int (*testdata_load)(const char *path, struct error_list *errors, struct error *error);

/* Asserts that `load` reports exactly the expected errors with an error list, and one of them without a list. */
void testdata_refused(const struct testdata_case *test, testdata_load load);

#endif
