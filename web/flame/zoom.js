// SPDX-License-Identifier: Apache-2.0
// The frame that is zoomed to, the window on the root's width that belongs to it, and the way from one window to the
// next. The frame is kept by its path, so that it is found again in a tree that has grown, or in another one.

const durationMs = 350;

function ease(t) {
    return t < 0.5 ? 2 * t * t : 1 - 2 * (1 - t) ** 2;
}

// The names from the root to a node, without the root's.
export function pathOf(node) {
    const path = [];

    for (let one = node; one?.parent; one = one.parent)
        path.push(one);
    return path.reverse();
}

// The widest child with this name; the one of the same kind and module where they are known.
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

// The node that a path leads to from the root, or as far as it goes.
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
        this.path = []; // of what was asked for: {name, kind, module}, the latter two where they are known
        this.node = null;
        this.from = 0;
        this.to = 1;
        this.way = null; // of the movement: {begin, from, to} as it began
    }

    // The tree is another one, or has grown. A frame of width 0 cannot be zoomed to.
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

    // Moves the window to where it is at a time. Returns whether it moves on.
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

// The width changes by the same factor in the same time; a point at the same place of both windows stays there.
function between(a, b, t) {
    const wide = a.to - a.from, narrow = b.to - b.from;
    const width = wide * (narrow / wide) ** t;
    const part = Math.abs(narrow - wide) < 1e-9 * wide ? t : (width - wide) / (narrow - wide);
    const from = a.from + (b.from - a.from) * part;

    return { from, to: from + width };
}
