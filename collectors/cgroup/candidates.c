/* SPDX-License-Identifier: Apache-2.0 */
/* The cgroups that the selection chooses from: see candidates.h. */
#include "collectors/cgroup/candidates.h"

#include "base/cleanup.h"

int cgroup_candidates_list(const struct cgroup_tree *tree, struct vacancies *vacancies, struct cgroup_candidate **ret,
                           size_t *ret_n)
{
    struct cgroup_candidate *candidates = NULL;
    struct cgroup_node *node;
    size_t n = 0;

    for (size_t i = 0; (node = cgroup_tree_node(tree, i)); i++) {
        if (node->left_out || (node->wanted && vacancies_find(vacancies, tree, node)))
            continue;
        if (array_grow(&candidates, n) < 0) {
            free(candidates);
            return -ENOMEM;
        }
        candidates[n++] = (struct cgroup_candidate){
            .path = node->path, .depth = node->depth, .wanted = node->wanted, .userdata = node};
    }
    *ret = candidates;
    *ret_n = n;
    return 0;
}
