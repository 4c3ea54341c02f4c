/* SPDX-License-Identifier: Apache-2.0 */
/* Whether the patterns want a cgroup: see verdict.h. */
#include "collectors/cgroup/verdict.h"

#include "base/cleanup.h"

bool verdict_update(struct cgroup_node *node, const struct cgroup_rules *rules, struct name_book *book)
{
    _cleanup_(names_done) struct names names = {0};
    bool before = node->wanted;

    /* Without memory it has the names that are known by then. */
    if (book && cgroup_rules_use_names(rules))
        name_book_find(book, node->path, &names);
    node->wanted = cgroup_rules_want(rules, node->path, &names);
    return node->wanted != before;
}

bool verdict_update_all(const struct cgroup_tree *tree, const struct cgroup_rules *rules, struct name_book *book)
{
    struct cgroup_node *node;
    bool any = false;

    for (size_t i = 0; (node = cgroup_tree_node(tree, i)); i++)
        any |= verdict_update(node, rules, book);
    return any;
}
