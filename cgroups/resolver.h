/* SPDX-License-Identifier: Apache-2.0 */
/* The name book, which asks all sources (cgroups/name-source.h) what people call what runs in a cgroup. */
#ifndef CGROUPS_RESOLVER_H
#define CGROUPS_RESOLVER_H

#include "cgroups/names.h"
#include "perf/sys.h"

struct name_book;

/* Returns -ENOMEM on failure. A source that this machine lacks is not an error. */
int name_book_new(struct sys *sys, struct name_book **ret);
struct name_book *name_book_free(struct name_book *book);
#define NAME_BOOK_FDS 3

/*
 * Returns the number of the sources' descriptors, at most NAME_BOOK_FDS. They are readable when name_book_dispatch()
 * has work.
 */
size_t name_book_fds(const struct name_book *book, int ret[NAME_BOOK_FDS]);
/* Handles changes. Returns whether a name may have changed, so that all cgroups must be looked up again. */
bool name_book_dispatch(struct name_book *book);
/*
 * Finds the names of a cgroup. `names` is empty before; `path` is relative to the root of the hierarchy. A container
 * without a name has names->unnamed. The sources keep what they know, so that most lookups need no system calls.
 * Returns -ENOMEM on failure.
 */
int name_book_find(struct name_book *book, const char *path, struct names *names);
/* The cgroup no longer exists, and nobody will ask about it again. */
void name_book_forget(struct name_book *book, const char *path);

#endif
