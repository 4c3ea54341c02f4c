/* SPDX-License-Identifier: Apache-2.0 */
/* The book of names: asks the sources what people call what runs in a cgroup. */
#ifndef CGROUPS_RESOLVER_H
#define CGROUPS_RESOLVER_H

#include "cgroups/names.h"
#include "perf/sys.h"

struct name_book;

/* -ENOMEM. A source that this machine does not have is no error. */
int name_book_new(struct sys *sys, struct name_book **ret);
struct name_book *name_book_free(struct name_book *book);
#define NAME_BOOK_FDS 3

/* The sources' descriptors, NAME_BOOK_FDS at most; one is readable when name_book_dispatch() has something to do. */
size_t name_book_fds(const struct name_book *book, int ret[NAME_BOOK_FDS]);
/* Takes in what changed; whether a name may be another now, so that all cgroups must be looked up again. */
bool name_book_dispatch(struct name_book *book);
/*
 * `names` is empty; `path` is relative to the root of the hierarchy. A container without a name has names->unnamed.
 * Makes no system call for each. -ENOMEM.
 */
int name_book_find(struct name_book *book, const char *path, struct names *names);
/* The cgroup is gone, and nobody will ask about it again. */
void name_book_forget(struct name_book *book, const char *path);

#endif
