// SPDX-License-Identifier: Apache-2.0
// Random stacks for the tests of the flame graph's tree, and functions that compute the same sums without a tree.
import { StackTree } from "../../../web/flame/tree.js";

export const process = (name) => ({ name, module: "", kind: "process" });
export const user = (name, module = "/usr/bin/demo") => ({ name, module, kind: "user" });
export const kernel = (name) => ({ name, module: "[kernel.kallsyms]", kind: "kernel" });

// xorshift32 (Marsaglia, "Xorshift RNGs", 2003): the same seed gives the same stacks, so that a failing test fails
// every time.
export class Random {
    constructor(seed) {
        this.state = seed;
    }

    below(n) {
        this.state ^= this.state << 13;
        this.state ^= this.state >>> 17;
        this.state ^= this.state << 5;
        return (this.state >>> 0) % n;
    }

    of(values) {
        return values[this.below(values.length)];
    }

    list(n, make) {
        return Array.from({ length: n }, () => make(this));
    }
}

const names = ["main", "f", "g", "read", "__proto__", "constructor", "a b", "x;y", "é", "\u{1f600}", "\uffee", ""];

function frame(random) {
    return random.below(4) === 0 ? kernel(random.of(names)) : user(random.of(names), random.of(["/bin/a", "/bin/b"]));
}

// Returns a random stack, {frames, weight}. There are only a few names, so that stacks share frames and functions are
// recursive.
export function stack(random) {
    return {
        frames: [process(random.of(["demo", "sh", ":7"])), ...random.list(1 + random.below(6), frame)],
        weight: random.below(5),
    };
}

export function treeOf(stacks, limits) {
    const tree = new StackTree(limits);

    for (const { frames, weight } of stacks)
        tree.add(frames, weight);
    return tree;
}

export function sum(stacks) {
    return stacks.reduce((total, { weight }) => total + weight, 0);
}

export function same(a, b) {
    return a.name === b.name && a.module === b.module && a.kind === b.kind;
}

// Returns the stacks that begin with these frames.
export function beginning(stacks, path) {
    return stacks.filter(({ frames }) => path.every((node, i) => frames[i] && same(node, frames[i])));
}

export function nodeAt(tree, ...path) {
    let node = tree.root;

    for (const name of path)
        node = [...node.children.values()].find((child) => child.name === name);
    return node;
}
