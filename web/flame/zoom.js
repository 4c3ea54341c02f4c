// SPDX-License-Identifier: Apache-2.0
// The zoomed frame, the visible window of the root's width, and the animation from one window to the next. The zoomed
// frame is stored as a path, so that it can be found again in an updated tree or in another tree.

const durationMs = 350;

function ease(t) {
    return t < 0.5 ? 2 * t * t : 1 - 2 * (1 - t) ** 2;
}

// Returns the nodes on the path from the root to a node, without the root.
export function pathOf(node) {
    const path = [];

    for (let one = node; one?.parent; one = one.parent)
        path.push(one);
    return path.reverse();
}

// Returns the child with this name, kind and module or, if no child has all three, the widest child with this name.
function childOf(node, { name, kind, module }) {
    let found = null;

    for (const child of node.children?.values() ?? []) {
        if (child.name !== name)
            continue;
        if (child.kind === kind && child.module === module)
            return child;
        if (!found || child.total > found.total)
            found = child;
    }
    return found;
}

// Follows a path from the root as far as it exists, and returns the last node.
export function follow(root, path) {
    let node = root;

    for (const step of path) {
        const child = childOf(node, step);
        if (!child)
            break;
        node = child;
    }
    return node;
}

export class Zoom {
    constructor(layout) {
        this.layout = layout;
        this.path = []; // the requested path: [{name, kind, module}]; kind and module may be undefined
        this.node = null;
        this.from = 0;
        this.to = 1;
        this.way = null; // the running animation: {begin: its start time; from, to: the window at that time}
    }

    // Finds the zoomed frame in a new or updated tree. Zooming to a frame of width 0 is impossible, so its ancestor is
    // used.
    settle(root) {
        this.node = follow(root, this.path);
        while (this.node.parent && !(this.node.total > 0))
            this.node = this.node.parent;
        if (!this.way)
            Object.assign(this, this.layout.span(this.node));
    }

    ask(root, path, moves) {
        this.way = moves ? { begin: null, from: this.from, to: this.to } : null;
        this.path = path;
        this.settle(root);
    }

    // Advances the animation to a time. Returns whether the animation continues.
    step(now) {
        if (!this.way)
            return false;
        this.way.begin ??= now;
        const t = Math.min(1, (now - this.way.begin) / durationMs);
        const end = this.layout.span(this.node);
        if (t === 1)
            this.way = null;
        Object.assign(this, t === 1 ? end : between(this.way, end, ease(t)));
        return t < 1;
    }
}

// Returns the window at the fraction `t` of the animation from `a` to `b`. The width of the window changes
// exponentially; a point that has the same relative position in both windows does not move.
function between(a, b, t) {
    const wide = a.to - a.from, narrow = b.to - b.from;
    const width = wide * (narrow / wide) ** t;
    const part = Math.abs(narrow - wide) < 1e-9 * wide ? t : (width - wide) / (narrow - wide);
    const from = a.from + (b.from - a.from) * part;

    return { from, to: from + width };
}
