// SPDX-License-Identifier: Apache-2.0
// The script in the SVGs of `perfcountd record`: positions, search and keyboard navigation.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { fileURLToPath } from "node:url";

const source = readFileSync(fileURLToPath(new URL("../../../formats/flame.js", import.meta.url)), "utf8");
// formats/flame.js is a script without exports, not a module.
const { label, nameOf, neighbour, place, search, share } = new Function(
    `${source}\nreturn { label, nameOf, neighbour, place, search, share };`)();

// The tree: app and other are siblings below all; app calls main, which calls a and c; a calls b.
const [all, app, main, a, b, c, other] = [["all", 0, 100, 0], ["app", 0, 80, 1], ["main", 0, 80, 2],
    ["leaf", 0, 50, 3], ["leaf", 0, 20, 4], ["Read", 50, 30, 3], ["other", 80, 20, 1]]
    .map(([name, at, n, depth]) => ({ name, at, n, depth }));
const frames = [all, app, main, a, b, c, other];

test("a name ends before the last colon and space", () => {
    assert.equal(nameOf("std::a<b>: c: 12 samples, 1.20 %"), "std::a<b>: c");
    assert.equal(nameOf(": 5 samples, 1 %: 1 samples, 0.10 %"), ": 5 samples, 1 %");
});

test("a label is as much of a name as fits", () => {
    assert.equal(label("hot_seventy", 100), "hot_seventy");
    assert.equal(label("hot_seventy", 50), "hot_s\u2026");
    assert.equal(label("hot_seventy", 20), "");
    assert.equal([...label("\u{1f600}".repeat(50), 100)].length, 12);
});

test("at any zoom, frames stay within the width, and only ancestors are above the zoomed frame", () => {
    for (const view of frames)
        for (const frame of frames) {
            const where = place(frame, view);
            if (where === null)
                continue;
            assert.ok(where.x >= 10 && where.x + where.pixels <= 1190.001);
            assert.equal(where.above, frame.depth < view.depth);
        }
    assert.deepEqual(place(c, all), { x: 10 + 11.8 * 50, pixels: 11.8 * 30, above: false });
    assert.deepEqual(place(a, a), { x: 10, pixels: 1180, above: false });
    assert.deepEqual(place(b, a), { x: 10, pixels: 1180 * 20 / 50, above: false });
    assert.equal(place(c, a), null);
    assert.equal(place(other, app), null);
    assert.equal(place(other, main), null);
});

test("an empty graph has the full width; a frame that is too narrow is not placed", () => {
    const empty = { name: "all", at: 0, n: 0, depth: 0 };

    assert.deepEqual(place(empty, empty), { x: 10, pixels: 1180, above: false });
    assert.equal(place({ name: "x", at: 0, n: 1, depth: 1 }, { name: "all", at: 0, n: 10000, depth: 0 }), null);
});

test("a sample counts once, even if several of its frames match", () => {
    const found = search(frames, all, "LEAF");

    assert.deepEqual(found, { matches: new Set([a, b]), n: 50, error: null });
    assert.equal(search(frames, all, "leaf|main").n, 80);
    assert.equal(search(frames, all, "^(read|other)$").n, 50);
    assert.equal(search(frames, all, "all").n, 0, "the root never matches");
    assert.equal(search(frames, all, "").matches.size, 0);
    assert.equal(share(50, 100), "50.00 %");
    assert.equal(share(0, 0), "0.00 %");
});

test("a search counts only the samples of the zoomed frame", () => {
    assert.equal(search(frames, a, "leaf").n, 50);
    assert.equal(search(frames, b, "leaf").n, 20, "its caller matches too, but only samples of the zoomed frame count");
    assert.equal(search(frames, c, "leaf").n, 0);
    assert.equal(search(frames, c, "main").n, 30);
});

test("an invalid regular expression matches nothing and gives an error", () => {
    for (const text of ["(", "[", "*", "x".repeat(501)]) {
        const found = search(frames, all, text);
        assert.equal(found.matches.size, 0);
        assert.ok(found.error.length > 0);
    }
});

test("arrow keys lead to callees, callers and neighbours", () => {
    assert.equal(neighbour(frames, main, "ArrowDown"), a);
    assert.equal(neighbour(frames, b, "ArrowDown"), null);
    assert.equal(neighbour(frames, b, "ArrowUp"), a);
    assert.equal(neighbour(frames, other, "ArrowUp"), all);
    assert.equal(neighbour(frames, all, "ArrowUp"), null);
    assert.equal(neighbour(frames, a, "ArrowRight"), c);
    assert.equal(neighbour(frames, c, "ArrowRight"), null);
    assert.equal(neighbour(frames, other, "ArrowLeft"), app);
});
