// SPDX-License-Identifier: Apache-2.0
// Tests the tree of stacks: its sums, and that its size is bounded whatever the input.
import assert from "node:assert/strict";
import test from "node:test";
import { folded, svg } from "../../../web/flame/export.js";
import { hottest, StackTree } from "../../../web/flame/tree.js";
import { search } from "../../../web/flame/search.js";
import { Random, nodeAt, process, treeOf, user } from "./stacks.mjs";

const MB = 1 << 20;

test("the weights of nodes add up, and a node returns its path from the root", () => {
    const tree = treeOf([
        { frames: [process("sh"), user("main"), user("f")], weight: 3 },
        { frames: [process("sh"), user("main")], weight: 2 },
    ]);
    const f = nodeAt(tree, "sh", "main", "f");

    assert.deepEqual([tree.total, tree.size, tree.depth, tree.lumped], [5, 3, 3, 0]);
    assert.deepEqual([f.parent.total, f.parent.self, f.self, f.depth], [5, 2, 3, 3]);
    assert.deepEqual(f.path().map((node) => node.name), ["sh", "main", "f"]);
    assert.deepEqual([...tree.nodes()].map((node) => node.depth), [0, 1, 2, 3]);
});

test("a tree derived from another one can grow", () => {
    const tree = treeOf([{ frames: [process("sh"), user("main"), user("f")], weight: 3 }]), merged = tree.merged();

    merged.add([user("main"), user("f")], 2);
    merged.add([user("main"), user("g")], 1);
    const main = nodeAt(merged, "main");
    assert.deepEqual([merged.size, main.total, [...main.children.values()].map(({ name, total }) => [name, total])],
                     [3, 6, [["f", 5], ["g", 1]]]);
});

test("a weight that is 0 or not a number adds nothing; a huge weight stays finite", () => {
    const tree = new StackTree(), frames = [process("sh"), user("main")];

    for (const weight of [0, -1, NaN, null, "text"])
        tree.add(frames, weight);
    assert.deepEqual([tree.total, tree.size], [0, 0]);
    for (const weight of [2 ** 53, 2 ** 60, Infinity, Number.MAX_VALUE])
        tree.add(frames, weight);
    assert.equal(tree.total, 4 * 2 ** 53);
});

test("names such as constructor and __proto__ are ordinary names", () => {
    const names = ["__proto__", "constructor", "toString", "hasOwnProperty", "size"];
    const tree = treeOf(names.map((name) => ({ frames: [process(name), user(name)], weight: 1 })));

    assert.deepEqual([...tree.root.children.values()].map((node) => node.name), names);
    assert.deepEqual(hottest(tree).map((row) => [row.self, row.total]), names.map(() => [1, 1]));
});

test("two frames are equal only if kind, name and module are equal", () => {
    const pairs = [["ab", "c"], ["a", "bc"], ["a", "b c"], ["a b", "c"], ["", "abc"], ["1 a", ""], ["a\0", ""]];
    const tree = treeOf(pairs.map(([name, module]) => ({ frames: [user(name, module)], weight: 1 })));

    tree.add([{ name: "ab", module: "c", kind: "kernel" }]);
    tree.add([{ name: "ab", module: "c", kind: "user" }]);
    assert.deepEqual([tree.size, tree.root.children.size], [pairs.length + 1, pairs.length + 1]);
});

test("a stack that is too deep keeps its outermost and innermost frames", () => {
    const recursion = Array.from({ length: 10000 }, (_, i) => user(i % 2 ? "even" : "odd"));
    const tree = treeOf([{ frames: [process("sh"), user("main"), ...recursion, user("leaf")], weight: 3 }]);
    const rows = new Map(hottest(tree).map((row) => [row.name, row]));

    assert.deepEqual([tree.size, tree.depth, tree.total], [512, 512, 3]);
    assert.equal(nodeAt(tree, "sh", "main").total, 3);
    assert.deepEqual([rows.get("leaf").self, rows.get("odd").total, rows.get("(left out)").total], [3, 3, 3]);
    assert.equal(folded(tree).split(";").filter((name) => name === "(left out)").length, 1);
    assert.equal(tree.merged().depth, 511);
    assert.equal(search(tree, "/^(odd|even)$/").share, 1);
    assert.ok(svg(tree).length < MB);
});

test("a stack of the maximum depth is kept whole", () => {
    const tree = treeOf([{ frames: Array.from({ length: 512 }, (_, i) => user(`f${i}`)), weight: 1 }]);

    assert.deepEqual([tree.size, folded(tree).includes("left out")], [512, false]);
});

test("stacks without room go to (other), below the last frame with room", () => {
    const tree = new StackTree({ limit: 3 });

    tree.add([process("sh"), user("main"), user("f")]);
    tree.add([process("sh"), user("main"), user("g"), user("h")], 2);
    tree.add([process("cat"), user("main")], 4);
    tree.add([process("sh"), user("main")], 8);
    assert.deepEqual([tree.total, tree.lumped], [15, 6]);
    assert.equal(nodeAt(tree, "sh", "main", "(other)").self, 2);
    assert.equal(nodeAt(tree, "sh", "main").total, 11);
    assert.equal(nodeAt(tree, "(other)").kind, "other");
    assert.equal(folded(tree), "sh;main 8\nsh;main;f 1\n[truncated] 6\n");
    assert.deepEqual([tree.merged().total, tree.merged().lumped], [15, 6]);
    assert.equal(nodeAt(tree.merged(), "(other)").total, 4);
});

test("the number of nodes (other) is bounded", () => {
    const tree = new StackTree({ limit: 800 });

    for (let i = 0; i < 800; i++)
        tree.add([process(`p${i}`)]);
    for (let i = 0; i < 800; i++)
        tree.add([process(`p${i}`), user("f")]);
    assert.deepEqual([tree.size, tree.total, tree.lumped], [901, 1600, 800]);
    assert.equal(nodeAt(tree, "(other)").self, 700);
});

test("a function that is really called (other) is not confused with the node (other)", () => {
    const tree = treeOf([{ frames: [process("(other)"), user("(other)"), user("(left out)")], weight: 1 }]);

    assert.equal(tree.lumped, 0);
    assert.equal(folded(tree), "(other);(other);(left out) 1\n");
});

test("with 200,000 distinct stacks, the tree is bounded and no weight is lost", () => {
    const random = new Random(3), tree = new StackTree();

    for (let i = 0; i < 200000; i++)
        tree.add([
            process(`p${i % 50}`), ...random.list(5, () => user(`function_${random.below(3000)}`)), user(`f${i}`),
        ]);
    assert.equal(tree.total, 200000);
    assert.ok(tree.size <= 225000 + 1);
    assert.ok(tree.lumped > 100000);
    assert.equal(folded(tree).split("\n").reduce((sum, line) => sum + Number(line.split(" ").at(-1)), 0), 200000);
});

test("with names of 4 KB, the number of characters in the tree is bounded", () => {
    const tree = new StackTree({ text: 1 << 20 });

    for (let i = 0; i < 2000; i++)
        tree.add([process("sh"), user(`${i}${"<".repeat(4090)}`)]);
    assert.equal(tree.total, 2000);
    assert.ok(tree.text <= 1 << 20);
    assert.ok(tree.lumped > 1700 && tree.lumped < 1800, `${tree.lumped}`);
    assert.ok(svg(tree).length < 10 * MB);
    assert.equal(search(tree, "<<<").weight, 2000 - tree.lumped);
    assert.ok(folded(tree).length < 2 * MB);
});

test("deep stacks of long names give a folded text and an SVG of bounded size", () => {
    const tree = new StackTree(), names = Array.from({ length: 500 }, (_, i) => user(`${i}${"<".repeat(4090)}`));

    for (let depth = 1; depth <= 500; depth++)
        tree.add(names.slice(0, depth));
    const text = folded(tree);
    assert.ok(text.length < 65 * MB, `${text.length}`);
    assert.equal(text.split("\n").reduce((sum, line) => sum + Number(line.split(" ").at(-1)), 0), 500);
    assert.ok(svg(tree).length < 3 * MB);
});
