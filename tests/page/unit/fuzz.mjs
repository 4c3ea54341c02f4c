// SPDX-License-Identifier: Apache-2.0
// Fuzzes the stream of samples by mutating typical and odd lines. The fuzzer checks that splitting the stream anywhere
// gives the same records; that each sample becomes a stack; that no weight is lost in the tree, its folded text, the
// merged tree or the table; that the SVG contains no markup other than its own; and that every search ends.
//
// usage: node fuzz.mjs [SECONDS [SEED]]     the same seed produces the same inputs
import assert from "node:assert/strict";
import { pathToFileURL } from "node:url";
import { folded, svg } from "../../../web/flame/export.js";
import { Layout } from "../../../web/flame/layout.js";
import { readRecords, stackOf, stacksOf } from "../../../web/flame/samples.js";
import { search } from "../../../web/flame/search.js";
import { StackTree, difference, hottest } from "../../../web/flame/tree.js";
import { Random } from "./stacks.mjs";

// Fragments of JSON and special names, one byte per character.
const tokens = [
    "\n", "\r\n", "{", "}", "[", "]", ",", ":", '"', "null", "true", "1e999", "-1", '"type":"sample"', '"comm":',
    '"callchain":[', '"symbol":', '"module":', '"ip":"0x0"', '"pid":', "__proto__", "constructor", "(other)",
    "(left out)", "[unknown]", "[kernel.kallsyms]", "//anon", "/usr/lib/libc.so.6", ";", " ", "_[k]", "&<>\\\"'",
    "\\u0000", "\\ud800", "\\ufffe", "\\u202e", "\xff", "\xc3", "\xf0\x9f\x98\x80", "]]>", "<script>", "a".repeat(300),
];
const usual = [
    '{"type":"header","version":"1","event":"cpu-clock","frequency":99,"notes":[]}',
    '{"type":"comm","pid":7,"tid":7,"comm":"bash"}',
    '{"type":"mmap2","pid":7,"tid":7,"address":"0x560a0ef83000","length":790528,"file":"/usr/bin/bash"}',
    '{"type":"fork","time":1795380284.718224490,"cpu":0,"pid":8,"tid":8,"parent_pid":7,"parent_tid":7}',
    '{"type":"exit","time":1795380286.220003467,"cpu":1,"pid":8,"tid":8,"parent_pid":7,"parent_tid":7}',
    '{"type":"end","reason":"seconds","records":120,"lost":0,"dropped":0,"seconds":6.001,"awaiting_symbols":0}',
    '{"type":"sample","comm":"p","pid":1,"callchain":[{"symbol":"f","module":"/bin/p"},{"symbol":"g"}]}',
    '{"type":"sample","pid":7,"ip":"0x10","symbol":"h","module":"[kernel.kallsyms]"}',
    '{"type":"sample","comm":"a b;c","callchain":[{},null,3,"x",[],{"symbol":"","module":"/a/"}]}',
    '{"type":"sample","comm":"\xc3\xa9\xf0\x9f\x98\x80",' +
        '"callchain":[{"symbol":"\\ud800\xe2\x80\xae","module":"\xc2\x85"}]}',
    '{"type":"sample","comm":"k","callchain":[{"symbol":"g/","module":"b"}]}',
    '{"type":"sample","comm":"k","callchain":[{"symbol":"g","module":"/b"}]}',
    '{"type":"sample","comm":"w","off_cpu_ns":2500000,"state":"sleeping","runnable_ns":500000,"callchain":[{}]}',
    '{"type":"sample","comm":{"toString":1},"pid":[1],"callchain":[{"symbol":"<b>","module":"&\\u0001"}]}',
];
const patterns = ["f", "/^f|g$/i", "/(a+)+$/", "/[/", "/(?<!x)/", "/\\p{L}*/su", "//", "/x/gg", "/./"];
const limits = [{}, { limit: 3 }, { depth: 3 }, { text: 60 }, { limit: 8, depth: 4, text: 200 }];

function bytesOf(text) {
    return Uint8Array.from(text, (one) => one.charCodeAt(0) & 0xff);
}

// --- inputs

function seedText(random) {
    return random.list(1 + random.below(6), (one) => one.of(usual)).join("\n") + "\n";
}

function mutate(random, text) {
    const at = random.below(text.length + 1), to = at + random.below(24);

    switch (random.below(6)) {
    case 0:
        return text.slice(0, at) + random.of(tokens) + text.slice(at);
    case 1:
        return text.slice(0, at) + random.of(tokens) + text.slice(to);
    case 2:
        return text.slice(0, at) + String.fromCharCode(random.below(256)) + text.slice(at + 1);
    case 3:
        return text.slice(0, at) + text.slice(to);
    case 4:
        return text.slice(0, at) + text.slice(at, to).repeat(1 + random.below(40)) + text.slice(to);
    default:
        return text.slice(0, at) + seedText(random) + text.slice(at);
    }
}

function input(random) {
    let text = seedText(random);

    for (let i = random.below(8); i > 0; i--)
        text = mutate(random, text);
    return text;
}

// --- invariants

async function read(pieces) {
    const records = [];
    const body = new ReadableStream({
        start(controller) {
            pieces.forEach((piece) => controller.enqueue(piece));
            controller.close();
        },
    });

    return { ...await readRecords({ body }, (record) => records.push(record)), taken: records };
}

function cut(random, bytes) {
    const pieces = [];

    for (let at = 0; at < bytes.length;) {
        const size = 1 + random.below(random.of([8, 64, 4096]));
        pieces.push(bytes.slice(at, at + size));
        at += size;
    }
    return pieces;
}

function checkStack(frames) {
    assert(frames.length >= 2 && frames[0].kind === "process");
    for (const { name, module, kind } of frames)
        assert(typeof name === "string" && name !== "" && typeof module === "string" &&
               ["process", "user", "kernel"].includes(kind));
}

// Adds each sample to a tree of off-CPU time, with arbitrary times, and checks the tree.
function checkWaits(samples) {
    const tree = new StackTree({ isTime: true });

    for (const sample of samples)
        for (const [frames, weight] of stacksOf({ off_cpu_ns: 1500, ...sample })) {
            assert.equal(frames[0].kind, "state");
            checkStack(frames.slice(1));
            tree.add(frames, weight);
        }
    assert(tree.total >= 0 && tree.total < Infinity && tree.merged().total === tree.total);
    assert(hottest(tree).every(({ self, total, variance }) => self <= total && total <= tree.total && variance >= 0));
    assert(/^([^\n]+ [1-9]\d*\n)*$/.test(folded(tree)));
}

// Checks that the tree has a node for each path unless it is full.
function checkPaths(tree, stacks) {
    const paths = new Set();

    for (const frames of stacks)
        for (let i = 1; i <= frames.length; i++)
            paths.add(JSON.stringify(frames.slice(0, i)));
    assert.equal(tree.size, paths.size);
}

function checkTree(tree, total) {
    const lumped = [...tree.nodes()].filter(({ name, kind }) => kind === "other" && name === "(other)");

    assert.equal(tree.total, total);
    assert.equal(tree.lumped, lumped.reduce((sum, node) => sum + node.self, 0));
    assert(tree.depth <= tree.limits.depth + 1);
    for (const node of tree.nodes()) {
        const below = [...node.children?.values() ?? []].reduce((sum, child) => sum + child.total, 0);
        assert.equal(node.total, node.self + below);
    }
}

function checkFolded(tree) {
    const lines = folded(tree).split("\n");

    assert.equal(lines.pop(), "");
    const weights = lines.map((line) => /^[^\n]+ (\d+)$/.exec(line)?.[1]);
    assert.equal(weights.reduce((sum, weight) => sum + Number(weight), 0), tree.total);
    assert.equal(new Set(lines.map((line) => line.slice(0, line.lastIndexOf(" ")))).size, lines.length);
}

// Checks that the SVG contains only characters of XML 1.0 (production "Char"), and no markup from names.
function checkSvg(tree) {
    const text = svg(tree, { title: tree.root.children?.values().next().value?.name ?? "t" });
    const rest = text.replace(/<\/?(svg|style|g|title|rect|text)( [a-zA-Z-]+="[^"<>&]*")*\/?>|<\?xml [^>]*\?>/g, "");

    assert(!/[<>]/.test(rest) && !/&(?!#\d+;)/.test(rest));
    assert(!/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]|\p{Cs}/u.test(text));
}

function checkTable(tree) {
    const rows = hottest(tree), own = [...tree.nodes()].filter(({ kind }) => kind !== "all" && kind !== "process");

    assert.equal(rows.reduce((sum, row) => sum + row.self, 0), own.reduce((sum, node) => sum + node.self, 0));
    for (const row of rows)
        assert(row.self <= row.total && row.total <= tree.total);
}

function checkSearch(random, tree) {
    let text = random.of(patterns);

    if (random.below(2))
        text = mutate(random, text);
    const { matches, weight, share, error } = search(tree, text.slice(0, 200));
    assert(weight <= tree.total && share <= 1 && (error === null || (matches.size === 0 && error !== "")));
}

function checkLayout(tree) {
    const layout = new Layout();

    for (const node of tree.nodes())
        layout.ordered(node);
    assert(difference(tree, tree).total === tree.total);
}

export async function tryOne(random) {
    const bytes = bytesOf(input(random));
    const whole = await read([bytes]), pieces = await read(cut(random, bytes));

    assert.deepEqual(pieces, whole);
    assert.equal(whole.records, whole.taken.length);
    const tree = new StackTree(random.of(limits)), stacks = whole.taken.map(stackOf);
    for (const frames of stacks) {
        checkStack(frames);
        tree.add(frames);
    }
    checkWaits(whole.taken);
    if (tree.limits.limit > 1000 && tree.limits.depth > 500 && tree.limits.text > 1000)
        checkPaths(tree, stacks);
    checkTree(tree, whole.taken.length);
    checkTree(tree.merged(), whole.taken.length);
    checkFolded(tree);
    checkSvg(tree);
    checkTable(tree);
    checkSearch(random, tree);
    checkLayout(tree);
}

// Runs inputs until `goesOn(number)` is false. Returns the number of inputs. On failure, the error contains the seed.
export async function fuzz(seed, goesOn) {
    let n = 0;

    for (; goesOn(n); n++) {
        // Each input has its own seed, so that it can be reproduced alone
        const own = (seed + n * 0x9e3779b1) >>> 0 || 1;
        try {
            await tryOne(new Random(own));
        } catch (error) {
            throw new Error(`seed ${own}`, { cause: error });
        }
    }
    return n;
}

// The output has the format of libFuzzer.
if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
    const seconds = Number(process.argv[2] ?? 10), seed = Number(process.argv[3] ?? Date.now() % 2 ** 31);
    const end = performance.now() + seconds * 1000;

    console.log(`INFO: Seed: ${seed}`);
    const n = await fuzz(seed, (i) => (process.argv[3] && seconds === 0 ? i < 1 : performance.now() < end));
    console.log(`stat::number_of_executed_units: ${n}`);
}
