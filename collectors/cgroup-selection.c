/* SPDX-License-Identifier: Apache-2.0 */
/* Which of the wanted cgroups are watched: see cgroup-selection.h. */
#include "collectors/cgroup-selection.h"

static int compare(const void *a, const void *b)
{
    const struct cgroup_candidate *left = a, *right = b;

    if (left->depth != right->depth)
        return left->depth < right->depth ? -1 : 1;
    return strcmp(left->path, right->path);
}

void cgroup_select(struct cgroup_candidate *candidates, size_t n, size_t limit)
{
    if (n > 0)
        qsort(candidates, n, sizeof(candidates[0]), compare);
    for (size_t i = 0; i < n; i++)
        candidates[i].watched = i < limit;
}
