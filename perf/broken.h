/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What sysfs has and what could not be understood, with the reason: so that who asks for it is told that, and not that
 * it does not exist.
 */
#ifndef PERF_BROKEN_H
#define PERF_BROKEN_H

#include "base/error.h"

struct broken_item {
    char *name, *reason; /* "umask"; "its file ... cannot be read: Permission denied" */
};

struct broken {
    struct broken_item *items;
    size_t n;
};

void broken_done(struct broken *broken);
/* -ENOMEM. */
int broken_add(struct broken *broken, const char *name, const char *reason);
/* The reason; NULL where `name` is not among them. */
const char *broken_find(const struct broken *broken, const char *name);

#endif
