// SPDX-License-Identifier: Apache-2.0
// Two trees laid over each other. Samples of the two may differ in number, so that shares of each are compared.
import { StackTree } from "./tree.js";

// Returns a tree with the weights of `after`, whose nodes also have `before` and `after`: their totals' shares, from 0
// to 1. A frame that is gone is kept with the total 0.
export function difference(before, after) {
    const tree = new StackTree(after.limits);
    const old = new Map(); // the node of `before`, by the new tree's

    tree.graft(tree.root, after.root);
    tree.lumped = after.lumped;
    tree.graft(tree.root, before.root, (to, node) => old.set(to, node.total));
    for (const node of tree.nodes()) {
        node.before = before.total > 0 ? (old.get(node) ?? 0) / before.total : 0;
        node.after = after.total > 0 ? node.total / after.total : 0;
    }
    return tree;
}
