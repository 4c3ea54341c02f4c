/* SPDX-License-Identifier: Apache-2.0 */
/* The resolver queries all name sources (cgroups/name-source.h) for the names of a cgroup. */
#ifndef CGROUPS_RESOLVER_H
#define CGROUPS_RESOLVER_H

#include "cgroups/names.h"
#include "cgroups/state-files.h"
#include "perf/sys.h"

struct resolver;

/*
 * `files` is NULL if there is no reader of state files. `sys` and `files` must outlive the resolver. Returns -ENOMEM on
 * failure. A source that this machine lacks is not an error.
 */
int resolver_new(struct sys *sys, const struct state_files *files, struct resolver **ret);
struct resolver *resolver_free(struct resolver *resolver);
#define RESOLVER_FDS 3

/*
 * Returns the number of the sources' descriptors, at most RESOLVER_FDS. A descriptor is readable when
 * resolver_dispatch() has something to do.
 */
size_t resolver_fds(const struct resolver *resolver, int ret[RESOLVER_FDS]);
/* Handles changes. Returns whether a name may have changed, so that all cgroups must be looked up again. */
bool resolver_dispatch(struct resolver *resolver);
/*
 * Finds the names of a cgroup. `names` must be empty; `path` is relative to the root of the hierarchy. A container
 * without a name has names->unnamed. The sources keep what they know, so that most lookups need no system calls.
 * Returns -ENOMEM on failure.
 */
int resolver_find(struct resolver *resolver, const char *path, struct names *names);
/* Tells the sources that the cgroup no longer exists and will not be looked up again. */
void resolver_forget(struct resolver *resolver, const char *path);

#endif
