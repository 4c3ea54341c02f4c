/* SPDX-License-Identifier: Apache-2.0 */
/* The cgroups that the selection (selection.h) chooses from: those that the tree knows, without the vacant ones. */
#ifndef COLLECTORS_CGROUP_CANDIDATES_H
#define COLLECTORS_CGROUP_CANDIDATES_H

#include "cgroups/selection.h"
#include "cgroups/vacancy.h"

/* The `userdata` of each is its node; the caller frees the array. -ENOMEM. */
int cgroup_candidates_list(const struct cgroup_tree *tree, struct vacancies *vacancies, struct cgroup_candidate **ret,
                           size_t *ret_n);

#endif
