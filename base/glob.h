/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Matching of path patterns.
 *
 * `*` and `?` do not match a slash; `**` does. `[a-z]` and `[!a-z]` match one character other than a slash. A backslash
 * quotes the next character. A `**` that is a whole path component also matches no component at all: the pattern made
 * of "/", "**" and "/x" matches "/x" as well as "/a/b/x". Patterns and paths are bytes, so any file name can be
 * matched.
 *
 * Pure. The running time is bounded by the product of the two lengths.
 */
#ifndef BASE_GLOB_H
#define BASE_GLOB_H

#include "base/error.h"

#define GLOB_MAX 4096 /* size of a pattern in bytes, including the NUL */

/* Whether the whole path matches. A pattern that glob_check() rejects matches nothing. */
bool glob_match(const char *pattern, const char *path);
/* Like glob_match(), but a pattern without a slash is matched against the last component only: "*.service". */
bool glob_match_last(const char *pattern, const char *path);
/*
 * Whether the pattern can match a path below this one: "/a/b/c" is below "/a", and everything is below "/". The result
 * is never false if the pattern matches such a path, but it may be true although no path matches ("/a/[/]b").
 */
bool glob_may_match_below(const char *pattern, const char *path);
/*
 * Whether only a final "**" of the pattern is left after this path, so that the pattern matches every path below it.
 * The result may be false for other patterns that match every such path.
 */
bool glob_match_all_below(const char *pattern, const char *path);
/*
 * Returns -EINVAL, with the offset of the offending character, for an unclosed bracket, a reversed range, a trailing
 * backslash, or a pattern of GLOB_MAX bytes or more.
 */
int glob_check(const char *pattern, struct error *error);

#endif
