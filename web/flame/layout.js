// SPDX-License-Identifier: Apache-2.0
// Computes the positions of the visible frames of a tree. The visible window is a part of the root's width. A frame
// narrower than half a pixel is skipped with everything below it, so that the cost depends on the number of visible
// frames, not on the size of the tree. No function is recursive, since a sampled stack may be deeper than the stack of
// JavaScript.

const narrowest = 0.5;
const none = [];
const many = 2000; // a frame with more children than this is handled differently, for speed

function compare(a, b) {
    if (a.name !== b.name)
        return a.name < b.name ? -1 : 1;
    if (a.kind !== b.kind)
        return a.kind < b.kind ? -1 : 1;
    return a.module < b.module ? -1 : a.module > b.module ? 1 : 0;
}

export class Layout {
    constructor() {
        this.order = new WeakMap(); // node → its sorted children
        this.weights = new WeakMap(); // node with many children → the totals of its children
        this.nodes = [];
        this.left = new Float64Array(4096);
        this.wide = new Float64Array(4096);
        this.row = new Int32Array(4096);
        this.clear();
    }

    clear() {
        this.length = 0;
        this.rows = 0;
        this.nodes.length = 0;
    }

    // Called when the tree has grown or has been replaced.
    change() {
        this.weights = new WeakMap();
    }

    // Returns the children sorted by name, so that frames stay in place while the tree grows. If there are very many
    // children, they stay in insertion order: sorting 200,000 names would take longer than everything else. New
    // children are at the end of the map, and it is cheap to sort an array that is already sorted except for its end.
    ordered(node) {
        const size = node.children?.size ?? 0;

        if (size === 0)
            return none;
        let known = this.order.get(node) ?? none;
        if (known.length !== size) {
            known = size > many ? [...node.children.values()]
                                : known.concat([...node.children.values()].slice(known.length)).sort(compare);
            this.order.set(node, known);
        }
        return known;
    }

    // Returns the totals of the children of a node. The totals of many children are cached in a typed array, which is
    // much faster to read than the nodes.
    totals(node, children) {
        let known = this.weights.get(node);

        if (!known) {
            known = Float64Array.from(children, (child) => child.total);
            this.weights.set(node, known);
        }
        return known;
    }

    // Returns the start and the end of a node, as fractions of the root's width.
    span(node) {
        let start = 0, one = node;

        for (; one.parent; one = one.parent)
            for (const sibling of this.ordered(one.parent)) {
                if (sibling === one)
                    break;
                start += sibling.total;
            }
        return { from: start / one.total, to: (start + node.total) / one.total };
    }

    add(node, left, wide, row) {
        const i = this.length++;

        if (i === this.left.length)
            for (const name of ["left", "wide", "row"]) {
                const larger = new this[name].constructor(2 * i);
                larger.set(this[name]);
                this[name] = larger;
            }
        this.nodes[i] = node;
        this.left[i] = left;
        this.wide[i] = wide;
        this.row[i] = row;
        this.rows = Math.max(this.rows, row + 1);
    }

    // Computes the frames in the window [from, to] of the root's width, which is drawn `width` pixels wide. The arrays
    // then contain the position of each frame in pixels; a frame that is wider than the window extends beyond it.
    lay(root, { from, to }, width) {
        const scale = width / ((to - from) * root.total);

        this.clear();
        if (!(root.total > 0 && width > 0))
            return;
        this.add(root, 0 - from * root.total * scale, root.total * scale, 0);
        // The arrays also serve as a queue, to which the loop appends the children of each frame.
        for (let i = 0; i < this.length; i++)
            this.below(i, scale, width);
    }

    below(i, scale, width) {
        const node = this.nodes[i], children = this.ordered(node), row = this.row[i] + 1;
        const totals = children.length > many ? this.totals(node, children) : null;
        let left = this.left[i];

        for (let k = 0; k < children.length && left < width; k++) {
            const wide = (totals ? totals[k] : children[k].total) * scale;

            if (wide >= narrowest && left + wide > 0)
                this.add(children[k], left, wide, row);
            left += wide;
        }
    }

    // Returns the index of the frame at a position, or -1.
    at(x, row) {
        for (let i = 0; i < this.length; i++)
            if (this.row[i] === row && this.left[i] <= x && x < this.left[i] + this.wide[i])
                return i;
        return -1;
    }
}
