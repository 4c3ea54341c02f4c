// SPDX-License-Identifier: Apache-2.0
// Functions, with the weight of the samples in which they ran (self) and in which they were on the stack (total).
import { keyOf } from "./tree.js";

// Visits each node with the process that it is of, "" if there is none. `leave` is called when all below it are done.
function walk(tree, enter, leave) {
    const waiting = [[tree.root, "", false]];

    while (waiting.length > 0) {
        const [node, process, done] = waiting.pop();
        if (done) {
            leave(node, process);
            continue;
        }
        enter(node, process);
        waiting.push([node, process, true]);
        for (const child of node.children?.values() ?? [])
            waiting.push([child, child.kind === "process" ? child.name : process, false]);
    }
}

// Returns [{name, module, kind, process, self, total}], the largest self first. A function that calls itself has each
// sample once in its total. With `byProcess`, each process has its own rows; else `process` is "".
export function hottest(tree, { byProcess = false } = {}) {
    const rows = new Map();
    const key_of = (node, process) => (byProcess ? `${process.length} ${process}${keyOf(node)}` : keyOf(node));
    const is_function = (node) => node.kind !== "all" && node.kind !== "process";

    walk(tree, (node, process) => {
        if (!is_function(node))
            return;
        const key = key_of(node, process);
        const row = rows.get(key) ?? { name: node.name, module: node.module, kind: node.kind,
            process: byProcess ? process : "", self: 0, total: 0, above: 0 };

        rows.set(key, row);
        row.self += node.self;
        row.total += row.above++ === 0 ? node.total : 0;
    }, (node, process) => {
        if (is_function(node))
            rows.get(key_of(node, process)).above--;
    });
    return [...rows.values()].map(({ above, ...row }) => row)
        .sort((a, b) => b.self - a.self || b.total - a.total || (a.name < b.name ? -1 : 1));
}
