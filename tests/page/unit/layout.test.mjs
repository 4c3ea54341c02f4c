// SPDX-License-Identifier: Apache-2.0
// Tests frame positions and the animated zoom window, without a browser.
import assert from "node:assert/strict";
import test from "node:test";
import { Layout } from "../../../web/flame/layout.js";
import { StackTree } from "../../../web/flame/tree.js";
import { Zoom, follow, pathOf } from "../../../web/flame/zoom.js";

const frame = (name, kind = "user") => ({ name, module: "m", kind });

function treeOf(stacks, options) {
    const tree = new StackTree(options);

    for (const [names, weight] of stacks)
        tree.add(names.map((name) => frame(name)), weight);
    return tree;
}

function laid(tree, window = { from: 0, to: 1 }, width = 100) {
    const layout = new Layout();

    layout.lay(tree.root, window, width);
    return Array.from({ length: layout.length }, (_, i) =>
        [layout.nodes[i].name, layout.row[i], layout.left[i], layout.wide[i]]);
}

const small = treeOf([[["b", "x"], 25], [["b"], 25], [["a"], 50]]);

test("children lie side by side, sorted by name, below their parent", () => {
    assert.deepEqual(laid(small), [["all", 0, 0, 100], ["a", 1, 0, 50], ["b", 1, 50, 50], ["x", 2, 50, 25]]);
});

test("a window shows a part of the tree, including frames that extend beyond the window", () => {
    assert.deepEqual(laid(small, { from: 0.5, to: 0.75 }),
        [["all", 0, -200, 400], ["b", 1, 0, 200], ["x", 2, 0, 100]]);
});

test("frames narrower than half a pixel are skipped with everything below them", () => {
    const tree = treeOf([[["wide"], 9950], [["thin", "below"], 40], [["just"], 50]]);

    assert.deepEqual(laid(tree).map(([name]) => name), ["all", "wide"]);
    assert.deepEqual(laid(tree, undefined, 110).map(([name]) => name), ["all", "just", "wide"]);
    assert.deepEqual(laid(tree, undefined, 150).map(([name]) => name), ["all", "just", "thin", "wide", "below"]);
});

test("an empty tree, and a layout of width 0, have no frames", () => {
    assert.deepEqual(laid(new StackTree()), []);
    assert.deepEqual(laid(small, undefined, 0), []);
});

test("a growing tree keeps the order of its frames", () => {
    const tree = treeOf([[["m"], 1], [["c"], 1]]), layout = new Layout();
    const names = () => layout.ordered(tree.root).map((node) => node.name).join("");

    assert.equal(names(), "cm");
    for (const name of ["a", "z", "d"])
        tree.add([frame(name)], 1);
    assert.equal(names(), "acdmz");
});

test("10,000 nested frames and 200,000 siblings are laid out", () => {
    const deep = treeOf([[Array.from({ length: 10000 }, (_, i) => `f${i}`), 1]], { depth: 20000 });
    const wide = treeOf(Array.from({ length: 200000 }, (_, i) => [[`f${i}`], 1]));

    assert.equal(laid(deep).length, 10001);
    assert.equal(laid(wide).length, 1);
    const part = laid(wide, { from: 0.5, to: 0.5001 }).length; // 20 whole siblings, two partial ones, and the root
    assert.ok(part >= 21 && part <= 23, `${part}`);
});

test("a frame is found by its position", () => {
    const layout = new Layout();

    layout.lay(small.root, { from: 0, to: 1 }, 100);
    assert.deepEqual([[10, 1], [60, 2], [80, 2], [10, 7]].map(([x, row]) => layout.nodes[layout.at(x, row)]?.name),
        ["a", "x", undefined, undefined]);
});

test("a path leads to its frame, or to its last existing ancestor", () => {
    const x = follow(small.root, [{ name: "b" }, { name: "x" }]);

    assert.deepEqual(pathOf(x).map((node) => node.name), ["b", "x"]);
    assert.equal(follow(small.root, [{ name: "b" }, { name: "?" }, { name: "x" }]).name, "b");
    assert.equal(follow(small.root, [{ name: "__proto__" }]), small.root);
});

test("of two frames with the same name, the zoomed one is found again, or else the wider one", () => {
    const tree = new StackTree();

    tree.add([frame("read")], 9);
    tree.add([frame("read", "kernel")], 1);
    assert.equal(follow(tree.root, [{ name: "read" }]).kind, "user");
    assert.equal(follow(tree.root, [{ name: "read", kind: "kernel", module: "m" }]).kind, "kernel");
});

test("the animated window moves to the zoomed frame, and ends exactly there", () => {
    const zoom = new Zoom(new Layout()), seen = [];

    zoom.ask(small.root, [{ name: "b" }], true);
    for (let now = 1000; ; now += 16) {
        const moves = zoom.step(now);
        seen.push([zoom.from, zoom.to]);
        if (!moves)
            break;
    }
    assert.deepEqual([seen[0], seen.at(-1)], [[0, 1], [0.5, 1]]);
    assert.ok(seen.length > 10);
    assert.ok(seen.every(([from, to], i) => from >= (seen[i - 1]?.[0] ?? 0) && Math.abs(to - 1) < 1e-9));
    zoom.ask(small.root, [], false);
    assert.deepEqual([zoom.from, zoom.to, zoom.step(2000)], [0, 1, false]);
});
