// SPDX-License-Identifier: Apache-2.0
// Tests which names a searched text or pattern matches, and that no search runs for ever.
import assert from "node:assert/strict";
import test from "node:test";
import { Pattern } from "../../../web/flame/pattern.js";
import { search } from "../../../web/flame/search.js";
import { Random, process, treeOf, user } from "./stacks.mjs";

const tree = treeOf([
    { frames: [process("nginx"), user("main"), user("ngx_read"), user("read")], weight: 3 },
    { frames: [process("nginx"), user("main"), user("std::vector<int>::push_back(int&&)")], weight: 1 },
    { frames: [process("cat"), user("main"), user("/usr/lib/x")], weight: 4 },
]);

// A text, the share of samples that it matches, and the number of frames that it matches.
const found = [
    ["main", 1, 2], ["READ", 0.375, 2], ["read", 0.375, 2], ["nginx", 0.5, 1], ["all", 0, 0], ["<int>::", 0.125, 1],
    ["/usr/lib", 0.5, 1], ["/^read$/", 0.375, 1], ["/READ/", 0, 0], ["/READ/i", 0.375, 2], ["/^(ngx|cat)/", 0.875, 2],
    ["/.*/", 1, 8], ["/\\(int&&\\)$/", 0.125, 1], ["(", 0.125, 1], ["[", 0, 0], ["", 0, 0], ["/", 0.5, 1], ["//", 0, 0],
];

test("each sample counts once, even if several of its frames match", () => {
    for (const [text, share, n] of found) {
        const { matches, error, ...rest } = search(tree, text);
        assert.deepEqual(rest, { weight: share * 8, share }, text);
        assert.deepEqual([matches.size, error], [n, null], text);
    }
});

test("a search in a tree without samples gives the share 0", () => {
    assert.deepEqual(search(treeOf([]), "x"), { matches: new Set(), weight: 0, share: 0, error: null });
});

const refused = ["(", "[a", "a**", "\\", "(?=a)", "(?<!a)b", "(a)\\1", "(?<n>a)\\k<n>", "a{2,1}", "a{99999}",
    "((a{50}){50}){50}", "(){9999}", "x".repeat(501), "\\p{Nothing}", "(?i:a)", "(".repeat(200)];

test("an unsupported pattern gives a sentence with the reason", () => {
    for (const pattern of refused) {
        const { error, ...rest } = search(tree, `/${pattern}/`);
        assert.match(error, /^The pattern \/.{0,99} does not work: [^:].*\.$/su);
        assert.deepEqual(rest, { matches: new Set(), weight: 0, share: 0 });
    }
    assert.match(search(tree, "/(?=a)/").error, /"\(\?=" is not supported here/);
});

// For these patterns, the browser's own engine takes minutes or never finishes.
const endless = ["(a+)+$", "(a|a)*$", "(a|aa)+$", "(.*)*x", "a*a*a*a*a*a*b", "(a?){40}a{40}$", "(\\w+\\s?)*$",
    "(a*)*(a*)*b", "((a+)+)+$", "(a|b|ab)*c", "(?:a?a?a?a?a?a?a?a?a?a?)+$", "^(([a-z])+.)+[A-Z]([a-z])+$"];

test("no pattern takes exponential time on a long name", () => {
    const name = `${"a".repeat(4000)}!`;

    for (const pattern of endless)
        assert.equal(search(treeOf([{ frames: [user(name)], weight: 1 }]), `/${pattern}/`).error, null, pattern);
});

test("$ matches only the end of a long name", () => {
    const long = treeOf([{ frames: [user(`${"a".repeat(4095)}!`)], weight: 1 }]);

    assert.equal(search(long, "/a$/").share, 0);
    assert.equal(search(long, "/!$/").share, 1);
});

test("a search that takes too long stops with an error sentence", (context) => {
    let now = 0;

    context.mock.method(performance, "now", () => now += 100);
    const stacks = Array.from({ length: 20 }, (_, i) => ({ frames: [user(`f${i}`)], weight: 1 }));
    assert.match(search(treeOf(stacks), "/f1/").error, /it takes longer than 1 s/);
});

const atoms = ["a", "b", "c", ".", "\\w", "[ab]", "[^a]", "[\\]b]", "\\d", "^", "$", "\\b", "_", " ", "é", "\u{1f600}",
    "\\x61", "\\u{62}", "\\.", "\\p{L}", "(?<n>a)"];
const counts = ["*", "+", "?", "{2}", "{1,2}", "{0}", "{2,}", "*?", "+?", "??", "{1,3}?"];

function pattern(random, depth) {
    const parts = random.list(1 + random.below(4), () => {
        const group = depth > 0 && random.below(4) === 0;
        const atom = group ? `${random.of(["(", "(?:"])}${pattern(random, depth - 1)})` : random.of(atoms);

        return /^(\^|\$|\\b)$/.test(atom) || random.below(3) > 0 ? atom : atom + random.of(counts);
    });

    return parts.join("") + (random.below(5) === 0 ? `|${pattern(random, 0)}` : "");
}

test("random patterns match the same names as in the browser's engine", () => {
    const random = new Random(9), letters = ["a", "b", "c", "1", " ", "_", "é", "\u{1f600}", "]", ".", "A"];
    let hits = 0;

    for (let i = 0; i < 800; i++) {
        const text = pattern(random, 2).replace(/\(\?<n>/g, () => `(?<n${random.below(1e9)}>`);
        const flags = random.of(["u", "iu", "su"]);
        const own = new RegExp(text, flags), tested = new Pattern(text, flags);
        for (const name of random.list(4, () => random.list(random.below(7), () => random.of(letters)).join(""))) {
            hits += own.test(name);
            assert.equal(tested.test(name), own.test(name), `/${text}/${flags} in "${name}"`);
        }
    }
    assert.ok(hits > 500 && hits < 2700, `${hits} of 3200`);
});
