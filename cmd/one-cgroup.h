/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one cgroup that a pattern names: a glob of its path, or of the last component if it contains no slash, or
 * "container=NAME" and the like. A unit or container is the outermost cgroup of that name.
 */
#ifndef CMD_ONE_CGROUP_H
#define CMD_ONE_CGROUP_H

#include "daemon/session.h"
#include "top/http-get.h"

/* Whether it is a path itself: it begins with a slash and contains no "*", "?" or "[". */
bool cgroup_is_path(const char *pattern);
/* Whether it is a pattern of names: session_begin() must have been called before one_cgroup_here(). */
bool cgroup_is_name(const char *pattern);

/* Returns -EINVAL with a sentence for a pattern that is not valid. */
int cgroup_pattern_check(const char *pattern, struct error *error);

/*
 * Searches the cgroups of this machine. *ret is the path. Returns -ENOENT if none matches, and -EINVAL if several do,
 * with a sentence that has some of them; other errors with a sentence.
 */
int one_cgroup_here(struct session *session, const char *pattern, char **ret, struct error *error);
/* Searches the cgroups that a daemon counts. Also returns errors of top_get(). */
int one_cgroup_there(const struct top_address *address, const char *pattern, char **ret, struct error *error);
/* Searches the daemon's document, the answer to /api/v1/cgroups. */
int one_cgroup_of(const json_t *document, const char *pattern, char **ret, struct error *error);

#endif
