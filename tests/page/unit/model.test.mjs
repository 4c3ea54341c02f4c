// SPDX-License-Identifier: Apache-2.0
// Checks the tree with random stacks: every result equals a sum over the stacks themselves.
import assert from "node:assert/strict";
import test from "node:test";
import { deviation, difference, hottest, isSure } from "../../../web/flame/tree.js";
import { folded } from "../../../web/flame/export.js";
import { search } from "../../../web/flame/search.js";
import { Random, beginning, same, stack, sum, treeOf } from "./stacks.mjs";

// Calls `check` with lists of random stacks.
function each(seed, check) {
    const random = new Random(seed);

    for (let i = 0; i < 60; i++)
        check(random.list(random.below(30), stack), random);
}

// Checks that a tree has exactly one node for each path of frames with a weight.
function checkTree(tree, stacks) {
    const heavy = stacks.filter(({ weight }) => weight > 0);
    const paths = new Set(heavy.flatMap(({ frames }) => frames.map((_, i) => JSON.stringify(frames.slice(0, i + 1)))));

    assert.equal(tree.size, paths.size);
    assert.equal(tree.total, sum(stacks));
    for (const node of tree.nodes()) {
        const path = node.path(), here = beginning(stacks, path);
        assert.equal(node.total, sum(here));
        assert.equal(node.self, sum(here.filter(({ frames }) => frames.length === path.length)));
        assert.equal(node.depth, path.length);
    }
}

function withoutProcess(stacks) {
    return stacks.map(({ frames, weight }) => ({ frames: frames.slice(1), weight }));
}

test("total and self weights are correct", () => {
    each(1, (stacks) => checkTree(treeOf(stacks), stacks));
});

test("a merged tree is correct", () => {
    each(2, (stacks) => checkTree(treeOf(stacks).merged(), withoutProcess(stacks)));
});

test("the order of stacks does not matter", () => {
    each(3, (stacks) => assert.equal(folded(treeOf(stacks)), folded(treeOf([...stacks].reverse()))));
});

test("folded text contains the weight of each stack", () => {
    each(4, (stacks) => {
        const lines = folded(treeOf(stacks)).split("\n").slice(0, -1);
        assert.equal(lines.reduce((total, line) => total + Number(line.slice(line.lastIndexOf(" "))), 0), sum(stacks));
        assert.equal(new Set(lines.map((line) => line.slice(0, line.lastIndexOf(" ")))).size, lines.length);
    });
});

test("the table of functions is correct", () => {
    each(5, (stacks) => {
        for (const byProcess of [false, true])
            for (const row of hottest(treeOf(stacks), { byProcess })) {
                const ofProcess = stacks.filter(({ frames }) => !byProcess || frames[0].name === row.process);
                const inside = ofProcess.filter(({ frames }) => frames.some((frame) => same(frame, row)));
                assert.equal(row.total, sum(inside));
                assert.equal(row.self, sum(ofProcess.filter(({ frames }) => same(frames.at(-1), row))));
            }
        const rows = hottest(treeOf(stacks));
        assert.equal(rows.reduce((total, row) => total + row.self, 0), sum(stacks));
        assert.ok(rows.every((row, i) => i === 0 || rows[i - 1].self >= row.self));
    });
});

test("the results of a search are correct", () => {
    each(6, (stacks, random) => {
        const text = random.of(["f", "MAIN", "e", "/^f$/", "/F/i", "/a.b|;/", "/^.$/", "nothing"]);
        const [, pattern, flags] = /^\/(.+)\/(i?)$/.exec(text) ?? [];
        const regex = pattern ? new RegExp(pattern, `u${flags}`) : null;
        const isMatch = ({ name }) => regex?.test(name) ?? name.toLowerCase().includes(text.toLowerCase());
        const tree = treeOf(stacks), found = search(tree, text);
        const weight = sum(stacks.filter(({ frames }) => frames.some(isMatch)));

        assert.equal(found.weight, weight);
        assert.equal(found.share, tree.total ? weight / tree.total : 0);
        assert.deepEqual(found.matches, new Set([...tree.nodes()].filter((node) => node.parent && isMatch(node))));
    });
});

test("the difference between two trees is correct", () => {
    each(7, (old, random) => {
        const young = random.list(random.below(30), stack), tree = difference(treeOf(old), treeOf(young));
        const share = (stacks, path) => (sum(stacks) ? sum(beginning(stacks, path)) / sum(stacks) : 0);
        const both = treeOf([...old, ...young]);

        assert.deepEqual([tree.size, tree.total], [both.size, sum(young)]);
        for (const node of tree.nodes()) {
            assert.equal(node.before, share(old, node.path()));
            assert.equal(node.after, share(young, node.path()));
            assert.equal(node.total, sum(beginning(young, node.path())));
        }
    });
});

test("the error of a difference follows from the Poisson distribution of samples", () => {
    assert.equal(deviation(0, 100, 0, 100), 0);
    assert.ok(Math.abs(deviation(25, 100, 0, 100) - 0.05) < 1e-12);
    assert.equal(deviation(5, 10, 0, 0), deviation(5, 10, 0, 10), "a recording without samples adds no error");
    const sure = (before, after) => isSure((after - before) / 1000, deviation(before, 1000, after, 1000));
    assert.deepEqual([[0, 3], [0, 5], [5, 0], [100, 120], [100, 140], [0, 0]].map(([a, b]) => sure(a, b)),
        [false, true, true, false, true, false]);
    assert.ok(!isSure(0, 0));
    // Two recordings of the same workload have almost no significant differences.
    const random = new Random(8), of = () => treeOf(random.list(2000, () =>
        ({ frames: [{ name: `f${random.below(8)}`, module: "", kind: "user" }], weight: 1 })));
    const nodes = [...difference(of(), of()).nodes()].filter((node) => node.parent);
    assert.ok(nodes.filter((node) => isSure(node.after - node.before, node.error)).length <= 1);
});
