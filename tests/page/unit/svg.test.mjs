// SPDX-License-Identifier: Apache-2.0
// The exported SVG: it is well-formed XML whatever the names are, has no scripts, and agrees with the tree.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import test from "node:test";
import { svg } from "../../../web/flame/export.js";
import { StackTree } from "../../../web/flame/tree.js";
import { kernel, process, treeOf, user } from "./stacks.mjs";

const hostile = ["<img src=x onerror=alert(1)>", "]]>", "<!--", "&lt;", "\"'", "\0\u0001\u001b[31m\u007f\u0085",
    "\u202egnp.exe\u202c", "\ufffe\uffff", "\ud800", "\udc00x", "\u{1f600}".repeat(300), "<".repeat(4096), "__proto__"];

const tree = treeOf([
    { frames: [process("demo"), user("main"), user("hot_seventy")], weight: 70 },
    { frames: [process("demo"), user("main"), kernel("vfs_read")], weight: 29.999 },
    { frames: [process("demo"), user("main"), user("narrow")], weight: 0.001 },
]);

// Returns {title, x, y, width, fill, text} of each frame.
function framesOf(text) {
    const rect = '<rect x="([\\d.]+)" y="([\\d.]+)" width="([\\d.]+)" height="17" fill="(.*?)"/>';
    const frame = `<g class="\\w+"><title>(.*?)</title>${rect}(?:<text [^>]*>(.*?)</text>)?</g>`;

    return [...text.matchAll(new RegExp(frame, "gs"))].map(([, title, x, y, width, fill, name]) =>
        ({ title, x: Number(x), y: Number(y), width: Number(width), fill, text: name }));
}

function frame(text, name) {
    return framesOf(text).find(({ title }) => title.startsWith(name));
}

test("frames are as wide as their share, and lie above their callers", () => {
    const up = svg(tree), down = svg(tree, { icicle: true });
    const [all, main, seventy, read] = ["all", "main", "hot_seventy", "vfs_read"].map((name) => frame(up, name));

    assert.equal(seventy.width, Number((0.7 * all.width).toFixed(1)));
    assert.equal(frame(up, "narrow"), undefined);
    assert.ok(all.y > main.y && main.y > seventy.y && seventy.y === read.y);
    assert.ok(frame(down, "all").y < frame(down, "main").y);
    assert.equal(read.title, "vfs_read ([kernel.kallsyms]): 29.999 samples, 30.00 %");
    assert.equal(seventy.text, "hot_seventy");
    assert.equal(new Set([all, frame(up, "demo"), main, read].map(({ fill }) => fill)).size, 4);
    assert.ok(framesOf(up).every(({ x, width }) => x >= 10 && x + width <= 1190.1));
});

test("a long name is shortened, and a narrow frame has no name", () => {
    const long = svg(treeOf([{ frames: [user("x".repeat(500))], weight: 1 }, { frames: [user("y")], weight: 199 }]));

    assert.equal(frame(long, "xxx").text, undefined);
    assert.match(frame(svg(treeOf([{ frames: [user("x".repeat(500))], weight: 1 }])), "xxx").text, /^x{100,200}…$/);
});

test("one sample is written in the singular", () => {
    const text = svg(treeOf([{ frames: [user("one")], weight: 1 }, { frames: [user("two")], weight: 2 }]));

    assert.match(frame(text, "one").title, /: 1 sample, 33/);
    assert.match(frame(text, "two").title, /: 2 samples, /);
});

test("the SVG has a dark style, with the same colours as the SVG of perfcountd record", () => {
    const of = (text) => new Map([...text.slice(text.indexOf("@media (prefers-color-scheme: dark)"))
        .matchAll(/\.(paper|all rect|process rect|user rect|kernel rect) { fill: (#\w+);? }/g)]
        .map(([, name, fill]) => [name, fill]));
    const theirs = of(readFileSync(new URL("../../../formats/flame.css", import.meta.url), "utf8"));

    assert.equal(theirs.size, 5);
    assert.deepEqual(of(svg(tree)), theirs);
    assert.match(svg(tree), /<g class="user"><title>hot_seventy.*?<rect [^>]*fill="#f3b562"/);
});

test("an empty tree gives an SVG, too", () => {
    assert.match(svg(new StackTree()), /all: 0 samples, 0\.00 %/);
});

test("hostile names are text, with only characters that XML allows", (context) => {
    const kinds = [process, user, kernel];
    const stacks = hostile.flatMap((name) => kinds.map((kind) => ({ frames: [kind(name)], weight: 1 })));
    const text = svg(treeOf(stacks), { title: hostile.join("") });

    assert.ok(text.isWellFormed?.() ?? true);
    assert.doesNotMatch(text, /[\0-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\ufffe\uffff]|\p{Cs}/u);
    assert.deepEqual(new Set(text.match(/<[^?/\s>]+/g)), new Set(["<svg", "<style", "<title", "<rect", "<text", "<g"]));
    assert.doesNotMatch(text, /<[^>]*\s(on\w+|href|style)=/);
    assert.equal(text.match(/<g /g).length, 1 + stacks.length);
    const lint = spawnSync("xmllint", ["--noout", "-"], { input: text });
    if (lint.error)
        context.diagnostic("xmllint is not installed: the SVG was not parsed");
    else
        assert.equal(lint.stderr.toString(), "");
});
