/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What sysfs has and what could not be understood, with the reason: so that who asks for it is told that, and not that
 * it does not exist.
 */
#ifndef PERF_DEFECTS_H
#define PERF_DEFECTS_H

#include "base/error.h"

struct defect {
    char *name, *reason; /* "umask"; "its file ... cannot be read: Permission denied" */
};

struct defects {
    struct defect *items;
    size_t n;
};

void defects_done(struct defects *broken);
/* -ENOMEM. */
int defects_add(struct defects *broken, const char *name, const char *reason);
/* The reason; NULL where `name` is not among them. */
const char *defects_find(const struct defects *broken, const char *name);

#endif
