/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files of the sources that tests read: single files, and pairs of an input and its expected output, whose names differ
 * in their ends. A file that cannot be read fails the test.
 */
#ifndef TESTS_UNIT_FIXTURE_H
#define TESTS_UNIT_FIXTURE_H

#include <stddef.h>

#include "base/error.h"

/* Where `name`, from the top of the sources, is. Returns `path`. */
const char *fixture_path(const char *name, char path[512]);

/* The text of such a file, NUL-terminated; the caller frees it. */
char *fixture_read(const char *name);

/* Calls `check` with the path of each file that matches the pattern from the top of the sources. Returns how many. */
size_t fixture_each(const char *pattern, void (*check)(const char *path));

/* Asserts that the file beside `path` with the end `suffix` in place of the last one (".yml") is `text` and a newline.
 */
void fixture_expect(const char *path, const char *suffix, const char *text);

/*
 * Asserts that `load`, which returns as config_load() does, refuses the file with -EINVAL and the error that is in
 * NAME.error, and also with NULL for the error.
 */
void fixture_refused(const char *path, int (*load)(const char *path, struct error *error));

#endif
