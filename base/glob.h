/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Path patterns: `*` and `?` stop at a slash, `**` crosses slashes, `[a-z]` and `[!a-z]` are one character other than a
 * slash, a backslash makes the next character stand for itself. Where `**` is all that is between two slashes, it may
 * match nothing: "/" and "**" and "/x" match "/x" as well as "/a/b/x". Patterns are bytes, so that any file name can be
 * matched. Pure; the time is at most the product of the two lengths.
 */
#ifndef BASE_GLOB_H
#define BASE_GLOB_H

#include "base/error.h"

#define GLOB_MAX 4096 /* bytes of a pattern, the NUL included */

/* A pattern that glob_check() refuses matches nothing. */
bool glob_match(const char *pattern, const char *path);
/* A pattern without a slash is compared with what stands behind the last slash: "*.service" is all services. */
bool glob_match_last(const char *pattern, const char *path);
/*
 * Whether the pattern may match a path below this one: "/a/b/c" is below "/a", and everything is below "/". Yes where
 * it does match one; the answer may be yes where no path could match ("/a/[/]b").
 */
bool glob_may_match_below(const char *pattern, const char *path);
/* Whether the pattern matches every path below this one. Yes only where it ends with "**" there. */
bool glob_match_all_below(const char *pattern, const char *path);
/*
 * -EINVAL, with the error at the offending character: an open bracket, a range that goes backwards, a backslash at the
 * end, a pattern that is too long.
 */
int glob_check(const char *pattern, struct error *error);

#endif
