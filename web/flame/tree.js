// SPDX-License-Identifier: Apache-2.0
// Stacks summed up: a node for each path of frames, with the weight of the samples that came by. It is bounded,
// whatever the programs do that it is about: what finds no room goes to "(other)" below the last frame that has a node,
// and is counted in `lumped`; the middle of a stack that is too deep is the frame "(left out)".

const heaviest = 2 ** 53; // of one sample
const other = { name: "(other)", module: "", kind: "other" };
const leftOut = { name: "(left out)", module: "", kind: "other" };

// The same for frames that are the same, in all trees. The length keeps two names from being another two together.
export function keyOf(frame) {
    return `${frame.kind} ${frame.name.length} ${frame.name}${frame.module}`;
}

class Node {
    // `kind` is "process", "user", "kernel", "other" (no function), or "all" (the root).
    constructor({ name, module, kind }, parent) {
        this.name = name;
        this.module = module;
        this.kind = kind;
        this.self = 0; // weight of the samples that were taken in this frame itself
        this.total = 0; // and in those that it called
        this.children = null; // Map, by keyOf()
        this.parent = parent;
        this.depth = parent ? parent.depth + 1 : 0;
    }

    // The frames from the root's child to this node.
    path() {
        const nodes = [];

        for (let node = this; node.parent; node = node.parent)
            nodes.unshift(node);
        return nodes;
    }
}

const otherKey = keyOf(other);

// The Map that a Map has at a key.
function within(map, key) {
    if (!map.has(key))
        map.set(key, new Map());
    return map.get(key);
}

function addWeights(to, node) {
    to.self += node.self;
    to.total += node.total;
}

export class StackTree {
    // At most `limit` nodes, and an eighth more for "(other)"; `depth` frames in a stack; `text` characters of names.
    constructor({ limit = 200000, depth = 512, text = 1 << 24 } = {}) {
        this.limits = { limit, depth, text };
        this.root = new Node({ name: "all", module: "", kind: "all" }, null);
        this.frames = new Map(); // {key, frame} by kind, module, name
        this.text = 0;
        this.size = 0; // nodes, without the root
        this.depth = 0; // of the deepest node
        this.lumped = 0;
    }

    get total() {
        return this.root.total;
    }

    // Adds a stack, the outermost frame first.
    add(frames, weight = 1) {
        if (!(weight > 0))
            return;
        const counted = Math.min(weight, heaviest);
        const node = this.descend(this.cut(frames));

        node.self += counted;
        this.lumped += node.kind === "other" && node.name === other.name ? counted : 0;
        for (let at = node; at; at = at.parent)
            at.total += counted;
    }

    // The outer and the inner half of a stack that is too deep: where it came from, and what it did.
    cut(frames) {
        const { depth } = this.limits, outer = depth >> 1;

        if (frames.length <= depth)
            return frames;
        return [...frames.slice(0, outer), leftOut, ...frames.slice(frames.length - (depth - outer - 1))];
    }

    // The node of a path.
    descend(frames) {
        let node = this.root;

        for (const frame of frames) {
            const child = this.child(node, frame);
            if (!child)
                return this.lump(node);
            node = child;
        }
        return node;
    }

    // null if there is no room for it.
    child(parent, frame) {
        const known = this.known(frame); // a tree that was made of another has nodes of frames that it does not know
        const found = parent.children?.get(known ? known.key : keyOf(frame));

        if (found)
            return found;
        const kept = this.size < this.limits.limit ? known ?? this.keep(frame) : null;

        return kept ? this.attach(parent, kept.key, kept.frame) : null;
    }

    known({ name, module, kind }) {
        return this.frames.get(kind)?.get(module)?.get(name);
    }

    // Holds the texts of a frame, once for all its nodes.
    keep(frame) {
        const kept = { key: keyOf(frame), frame };

        if (this.text + kept.key.length > this.limits.text)
            return null;
        this.text += kept.key.length;
        const modules = within(this.frames, frame.kind), names = within(modules, frame.module);
        names.set(frame.name, kept);
        return kept;
    }

    attach(parent, key, frame) {
        const made = new Node(frame, parent);

        parent.children ??= new Map();
        parent.children.set(key, made);
        this.size++;
        this.depth = Math.max(this.depth, made.depth);
        return made;
    }

    // "(other)" below the node, or, where that has no room either, below the next one outside that has it.
    lump(node) {
        const most = this.limits.limit * 1.125;

        for (; ; node = node.parent) {
            const found = node.children?.get(otherKey);
            if (found)
                return found;
            if (this.size < most || !node.parent)
                return this.attach(node, otherKey, other);
        }
    }

    // Has nodes for a node of another tree, and for all below it, and calls `add` with each and the other tree's: by
    // default, its weights are added.
    graft(into, from, add = addWeights) {
        const pairs = [[into, from]];

        while (pairs.length > 0) {
            const [to, node] = pairs.pop();
            add(to, node);
            for (const [key, child] of node.children ?? [])
                pairs.push([to.children?.get(key) ?? this.attach(to, key, child), child]);
        }
    }

    // The same without the frames of processes.
    merged() {
        const tree = new StackTree(this.limits);

        for (const [key, child] of this.root.children ?? [])
            if (child.kind === "process") {
                tree.graft(tree.root, child);
            } else {
                tree.graft(tree.root.children?.get(key) ?? tree.attach(tree.root, key, child), child);
                tree.root.total += child.total;
            }
        tree.root.self += this.root.self;
        tree.root.total += this.root.self;
        tree.lumped = this.lumped;
        return tree;
    }

    // All nodes, each after its parent.
    *nodes() {
        const waiting = [this.root];

        while (waiting.length > 0) {
            const node = waiting.pop();
            yield node;
            for (const child of node.children?.values() ?? [])
                waiting.push(child);
        }
    }
}

// --- Two trees laid over each other. Samples of the two may differ in number, so that shares of each are compared.

// The standard deviation of the difference of two shares, of numbers of samples, which vary as Poisson counts do.
export function deviation(before, beforeTotal, after, afterTotal) {
    const variance = (n, total) => total > 0 ? n / (total * total) : 0;

    return Math.sqrt(variance(before, beforeTotal) + variance(after, afterTotal));
}

// Whether a difference is more than chance makes of samples: two standard deviations.
export function isSure(change, error) {
    return Math.abs(change) >= 2 * error && change !== 0;
}

// Returns a tree with the weights of `after`, whose nodes also have `before` and `after`, their totals' shares, from 0
// to 1, and `error`, the standard deviation of their difference. A frame that is gone is kept with the total 0.
export function difference(before, after) {
    const tree = new StackTree(after.limits);
    const old = new Map(); // the node of `before`, by the new tree's

    tree.graft(tree.root, after.root);
    tree.lumped = after.lumped;
    tree.graft(tree.root, before.root, (to, node) => old.set(to, node.total));
    for (const node of tree.nodes()) {
        const weight = old.get(node) ?? 0;
        node.before = before.total > 0 ? weight / before.total : 0;
        node.after = after.total > 0 ? node.total / after.total : 0;
        node.error = deviation(weight, before.total, node.total, after.total);
    }
    return tree;
}

// --- Functions, with the weight of the samples in which they ran (self) and in which they were on the stack (total).

// Visits each node with the process that it is of, "" if there is none. `leave` is called with what `enter` returned,
// unless that is null, when all below the node are done.
function walk(tree, enter, leave) {
    const waiting = [[tree.root, "", null]];

    while (waiting.length > 0) {
        const [node, process, entered] = waiting.pop();
        if (entered) {
            leave(entered);
            continue;
        }
        const kept = enter(node, process);
        if (kept)
            waiting.push([node, process, kept]);
        for (const child of node.children?.values() ?? [])
            waiting.push([child, child.kind === "process" ? child.name : process, null]);
    }
}

// Returns [{name, module, kind, process, self, total}], the largest self first. A function that calls itself has each
// sample once in its total. With `byProcess`, each process has its own rows; else `process` is "".
export function hottest(tree, { byProcess = false } = {}) {
    const rows = new Map();
    const rowKey = (node, process) => (byProcess ? `${process.length} ${process}${keyOf(node)}` : keyOf(node));

    walk(tree, (node, process) => {
        if (node.kind === "all" || node.kind === "process")
            return null;
        const key = rowKey(node, process);
        let row = rows.get(key);
        if (!row) {
            row = { name: node.name, module: node.module, kind: node.kind, process: byProcess ? process : "",
                    self: 0, total: 0, above: 0 };
            rows.set(key, row);
        }
        row.self += node.self;
        row.total += row.above++ === 0 ? node.total : 0;
        return row;
    }, (row) => row.above--);
    return [...rows.values()].map(({ above, ...row }) => row)
        .sort((a, b) => b.self - a.self || b.total - a.total || (a.name < b.name ? -1 : 1));
}
