// SPDX-License-Identifier: Apache-2.0
// Aggregates stacks in a tree: one node for each path of frames, with the weight of its samples. The size of the tree
// is bounded, whatever the sampled programs do. Stacks for which there is no room go to "(other)" below the last frame
// that has a node, and are counted in `lumped`. The middle of a stack that is too deep is replaced by the frame "(left
// out)". Weights are numbers of samples, or nanoseconds of off-CPU time.

const heaviest = 2 ** 53; // maximum weight of one sample
const other = { name: "(other)", module: "", kind: "other" };
const leftOut = { name: "(left out)", module: "", kind: "other" };

// Returns the key of a frame. Equal frames have the same key in all trees. The key contains the length of the name so
// that, for example, "ab" in "c" and "a" in "bc" have different keys.
export function keyOf(frame) {
    return `${frame.kind} ${frame.name.length} ${frame.name}${frame.module}`;
}

class Node {
    // `kind` is "process", "state" (of off-CPU time), "user", "kernel", "other" (no function), or "all" (the root).
    constructor({ name, module, kind }, parent) {
        this.name = name;
        this.module = module;
        this.kind = kind;
        this.self = 0; // weight of samples taken in this frame
        this.total = 0; // weight of samples taken in this frame or in its callees
        this.variance = 0; // variance of the total
        this.children = null; // null, or a Map from keyOf() of a child to the child
        this.parent = parent;
        this.depth = parent ? parent.depth + 1 : 0;
    }

    // Returns the nodes on the path from the root to this node, without the root.
    path() {
        const nodes = [];

        for (let node = this; node.parent; node = node.parent)
            nodes.unshift(node);
        return nodes;
    }
}

const otherKey = keyOf(other);

// Returns the Map stored at a key of a Map; creates it if necessary.
function within(map, key) {
    if (!map.has(key))
        map.set(key, new Map());
    return map.get(key);
}

function addWeights(to, node) {
    to.self += node.self;
    to.total += node.total;
    to.variance += node.variance;
}

export class StackTree {
    // `limit`: maximum number of nodes, plus one eighth for nodes "(other)"; `depth`: maximum number of frames in a
    // stack; `text`: maximum number of characters in all names together. `isTime`: whether weights are nanoseconds.
    constructor({ limit = 200000, depth = 512, text = 1 << 24, isTime = false } = {}) {
        this.limits = { limit, depth, text, isTime };
        this.isTime = isTime;
        this.root = new Node({ name: "all", module: "", kind: "all" }, null);
        this.frames = new Map(); // kind → module → name → {key, frame}
        this.text = 0;
        this.size = 0; // number of nodes, not counting the root
        this.depth = 0; // depth of the deepest node
        this.lumped = 0;
    }

    get total() {
        return this.root.total;
    }

    // Adds a stack, with the outermost frame first.
    add(frames, weight = 1) {
        if (!(weight > 0))
            return;
        const counted = Math.min(weight, heaviest), variance = this.isTime ? counted * counted : counted;
        const node = this.descend(this.cut(frames));

        node.self += counted;
        this.lumped += node.kind === "other" && node.name === other.name ? counted : 0;
        for (let at = node; at; at = at.parent) {
            at.total += counted;
            at.variance += variance;
        }
    }

    // Shortens a stack that is too deep to its outermost and its innermost frames.
    cut(frames) {
        const { depth } = this.limits, outer = depth >> 1;

        if (frames.length <= depth)
            return frames;
        return [...frames.slice(0, outer), leftOut, ...frames.slice(frames.length - (depth - outer - 1))];
    }

    // Returns the node of a path; creates it if necessary.
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

    // Returns a node's child for a frame, and creates it if necessary. Returns null if the tree has no room for a new
    // child.
    child(parent, frame) {
        const known = this.known(frame); // not set for frames that were only copied from another tree
        const found = parent.children?.get(known ? known.key : keyOf(frame));

        if (found)
            return found;
        const kept = this.size < this.limits.limit ? known ?? this.keep(frame) : null;

        return kept ? this.attach(parent, kept.key, kept.frame) : null;
    }

    known({ name, module, kind }) {
        return this.frames.get(kind)?.get(module)?.get(name);
    }

    // Stores the strings of a frame once for all its nodes.
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

    // Returns the node "(other)" below a node or, if there is no room, below the nearest ancestor that has room.
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

    // Merges the subtree below `from`, a node of another tree, into the node `into`. Calls `add` with each node of this
    // tree and its counterpart in the other tree; by default, `add` adds the weights.
    graft(into, from, add = addWeights) {
        const pairs = [[into, from]];

        while (pairs.length > 0) {
            const [to, node] = pairs.pop();
            add(to, node);
            for (const [key, child] of node.children ?? [])
                pairs.push([to.children?.get(key) ?? this.attach(to, key, child), child]);
        }
    }

    // Returns a copy without the frames of processes.
    merged() {
        return this.without(({ kind }) => kind === "process");
    }

    // Returns a copy without the frames for which isLeftOut() is true. The samples of these frames are attributed to
    // the nearest remaining ancestor.
    without(isLeftOut) {
        const tree = new StackTree(this.limits), pairs = [[tree.root, this.root]];

        addWeights(tree.root, this.root);
        while (pairs.length > 0) {
            const [to, node] = pairs.pop();
            for (const [key, child] of node.children ?? []) {
                if (isLeftOut(child)) {
                    to.self += child.self;
                    pairs.push([to, child]);
                    continue;
                }
                const made = to.children?.get(key) ?? tree.attach(to, key, child);
                addWeights(made, child);
                pairs.push([made, child]);
            }
        }
        tree.lumped = this.lumped;
        return tree;
    }

    // Visits all nodes, each after its parent.
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

// --- The difference between two trees. The trees may have different numbers of samples, so shares are compared.

// Returns the standard deviation of the difference between two shares, computed from the variances of their weights.
// Samples follow a Poisson distribution: the variance is their number or, for weighted samples, the sum of the squared
// weights.
export function deviation(before, beforeTotal, after, afterTotal) {
    const ofShare = (variance, total) => total > 0 ? variance / (total * total) : 0;

    return Math.sqrt(ofShare(before, beforeTotal) + ofShare(after, afterTotal));
}

// Returns whether a difference is significant: at least two standard deviations.
export function isSure(change, error) {
    return Math.abs(change) >= 2 * error && change !== 0;
}

// Returns a tree with the weights of `after`. The nodes also have `before` and `after`, their shares in the two trees
// from 0 to 1, and `error`, the standard deviation of the difference. A frame that occurs only in `before` has a total
// of 0.
export function difference(before, after) {
    const tree = new StackTree(after.limits);
    const old = new Map(), none = { total: 0, variance: 0 }; // node of the new tree → its counterpart in the old one

    tree.graft(tree.root, after.root);
    tree.lumped = after.lumped;
    tree.graft(tree.root, before.root, (to, node) => old.set(to, node));
    for (const node of tree.nodes()) {
        const { total, variance } = old.get(node) ?? none;
        node.before = before.total > 0 ? total / before.total : 0;
        node.after = after.total > 0 ? node.total / after.total : 0;
        node.error = deviation(variance, before.total, node.variance, after.total);
    }
    return tree;
}

// --- The table of functions. The self weight of a function is the weight of the samples taken in it; its total weight
// is the weight of all samples with the function on the stack.

// Calls `enter` for each node, with the name of its process or "". If the result of `enter` is not null, it is passed
// to `leave` once all descendants of the node have been visited.
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

// Removes the kernel functions below user functions, since they are the same for every wait. A wait then belongs to the
// user function that made the system call.
function ofPrograms(tree) {
    const inProgram = new Set();

    return tree.without((node) => {
        const isOne = node.kind === "kernel" && (node.parent.kind === "user" || inProgram.has(node.parent));
        if (isOne)
            inProgram.add(node);
        return isOne;
    });
}

// Returns the variance of a node's self weight.
function selfVariance({ variance, children }) {
    for (const child of children?.values() ?? [])
        variance -= child.variance;
    return Math.max(0, variance);
}

// Returns [{name, module, kind, process, self, total, variance}], the largest self first. `variance` is the variance of
// `self`. The total of a recursive function counts each sample once. With `byProcess`, each process has its own rows;
// otherwise `process` is "".
export function hottest(tree, { byProcess = false } = {}) {
    const rows = new Map();
    const rowKey = (node, process) => (byProcess ? `${process.length} ${process}${keyOf(node)}` : keyOf(node));

    walk(tree.isTime ? ofPrograms(tree) : tree, (node, process) => {
        if (["all", "process", "state"].includes(node.kind))
            return null;
        const key = rowKey(node, process);
        let row = rows.get(key);
        if (!row) {
            row = { name: node.name, module: node.module, kind: node.kind, process: byProcess ? process : "",
                    self: 0, total: 0, variance: 0, above: 0 };
            rows.set(key, row);
        }
        row.self += node.self;
        row.variance += selfVariance(node);
        row.total += row.above++ === 0 ? node.total : 0;
        return row;
    }, (row) => row.above--);
    return [...rows.values()].map(({ above, ...row }) => row)
        .sort((a, b) => b.self - a.self || b.total - a.total || (a.name < b.name ? -1 : 1));
}
