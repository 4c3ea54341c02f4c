/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files of the sources that tests read: whole ones, and pairs of an input and its expected output, under names that
 * differ in their ends. A file that cannot be read fails the test.
 */
#ifndef TESTS_UNIT_FIXTURE_H
#define TESTS_UNIT_FIXTURE_H

#include <stddef.h>

#include "base/error.h"

/* Where `name`, from the top of the sources, is. Returns `path`. */
const char *fixture_path(const char *name, char path[512]);

/* The contents, NUL-terminated; the caller frees them. */
char *fixture_read(const char *name);

/* Calls `check` with the path of each file that matches the pattern from the top of the sources. Returns how many. */
size_t fixture_each(const char *pattern, void (*check)(const char *path));

/* That `text` and a newline are in the file beside `path` that has the end `suffix` in place of the last one (".yml").
 */
void fixture_expect(const char *path, const char *suffix, const char *text);

/*
 * That `load`, which returns as config_load() does, refuses the file with -EINVAL and the error that is in NAME.error,
 * and also where nobody wants to know the error (NULL).
 */
void fixture_refused(const char *path, int (*load)(const char *path, struct error *error));

#endif
