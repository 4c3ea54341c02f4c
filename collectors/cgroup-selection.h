/* SPDX-License-Identifier: Apache-2.0 */
/* Which of the wanted cgroups are watched where there is not room for all: the shallow ones first, then by name. Pure. */
#ifndef COLLECTORS_CGROUP_SELECTION_H
#define COLLECTORS_CGROUP_SELECTION_H

#include "base/util.h"

struct cgroup_candidate {
    const char *path;
    unsigned depth;
    void *userdata;
    bool watched; /* out */
};

/* Sorts the candidates, and marks those for which there is room. */
void cgroup_select(struct cgroup_candidate *candidates, size_t n, size_t limit);

#endif
