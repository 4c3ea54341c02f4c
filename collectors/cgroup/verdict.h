/* SPDX-License-Identifier: Apache-2.0 */
/* Whether the patterns want a cgroup, by its path and its names: kept in the node until one of them is another. */
#ifndef COLLECTORS_CGROUP_VERDICT_H
#define COLLECTORS_CGROUP_VERDICT_H

#include "cgroups/resolver.h"
#include "cgroups/selection.h"
#include "cgroups/tree.h"

/* Sets node->wanted; whether that is new. Without a book, NULL, names are not known. */
bool verdict_update(struct cgroup_node *node, const struct cgroup_rules *rules, struct name_book *book);
/* All nodes of the tree; whether one is new. */
bool verdict_update_all(const struct cgroup_tree *tree, const struct cgroup_rules *rules, struct name_book *book);

#endif
