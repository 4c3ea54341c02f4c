/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Path patterns: `*` and `?` stop at a slash, `**` crosses slashes, `[a-z]` and `[!a-z]` are one character other than a
 * slash, a backslash takes the next character as it is. Bytes, so that any file name can be matched. Pure; no recursion
 * that a pattern could blow up.
 */
#ifndef BASE_GLOB_H
#define BASE_GLOB_H

#include "base/error.h"

bool glob_match(const char *pattern, const char *path);
/* -EINVAL, with the error at the offending character: an open bracket, a lone backslash at the end. */
int glob_check(const char *pattern, struct error *error);

#endif
