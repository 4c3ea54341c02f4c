// SPDX-License-Identifier: Apache-2.0
// Converts samples to stacks and to folded text. folded.test.mjs compares the folded text with that of the daemon for
// the same samples.
import assert from "node:assert/strict";
import test from "node:test";
import { folded } from "../../../web/flame/export.js";
import { stackOf } from "../../../web/flame/samples.js";
import { StackTree } from "../../../web/flame/tree.js";
import { kernel, process, treeOf, user } from "./stacks.mjs";

const [libc, image] = ["/usr/lib/libc.so.6", "[kernel.kallsyms]"];

// Symbol and module of a frame, and the expected name and kind.
const frames = [
    ["read", libc, "read", "user"],
    ["[unknown]", libc, "[libc.so.6]", "user"],
    ["[unknown]", "[unknown]", "[unknown]", "user"],
    ["[unknown]", "//anon", "[unknown]", "user"],
    ["[unknown]", "/", "[unknown]", "user"],
    ["[unknown]", "demo", "[unknown]", "user"],
    ["[unknown]", "[vdso]", "[vdso]", "user"],
    ["__vdso_time", "[vdso]", "__vdso_time", "user"],
    ["[unknown]", image, image, "kernel"],
    ["vfs_read", image, "vfs_read", "kernel"],
    ["x", "[kernel.kallsyms] ", "x", "user"],
    [undefined, undefined, "[unknown]", "user"],
    [7, {}, "[unknown]", "user"],
    ["", "", "[unknown]", "user"],
    ["__proto__", "constructor", "__proto__", "user"],
];

test("frames have the same names as in folded text", () => {
    for (const [symbol, module, name, kind] of frames) {
        const [, found] = stackOf({ comm: "demo", callchain: [{ symbol, module }] });
        assert.deepEqual([found.name, found.kind], [name, kind], `${symbol} of ${module}`);
    }
});

test("a stack begins with the process, followed by the callers from the outermost", () => {
    const callchain = [{ symbol: "vfs_read", module: image }, { symbol: "read", module: libc }];

    assert.deepEqual(stackOf({ comm: "cat", pid: 3, callchain }),
        [process("cat"), user("read", libc), kernel("vfs_read")]);
    assert.equal(stackOf({ comm: "", pid: 3, callchain })[0].name, ":3");
    assert.equal(stackOf({ callchain })[0].name, ":-1");
});

test("a sample without a call chain has one frame, where it was taken", () => {
    const place = { comm: "cat", symbol: "read", module: libc };
    const nowhere = [process("cat"), user("[unknown]", "[unknown]")];

    assert.deepEqual(stackOf({ ...place, ip: "0x1" }), [process("cat"), user("read", libc)]);
    assert.deepEqual(stackOf({ ...place, ip: "0x1", callchain: [] }), [process("cat"), user("read", libc)]);
    assert.deepEqual(stackOf({ ...place, callchain: [] }), [process("cat"), user("read", libc)], "hidden address");
    assert.deepEqual(stackOf({ ...place, ip: "0x0", callchain: [] }), nowhere);
    assert.deepEqual(stackOf({ comm: "cat" }), nowhere);
});

test("no record causes an exception, whatever its fields are", () => {
    const values = [undefined, null, 0, -1, "", "text", [], [null], [[]], {}, { length: 3 }, true];

    for (const callchain of values)
        for (const other of values) {
            const found = stackOf({ callchain, comm: other, pid: other, ip: other, symbol: other, module: other });
            assert.ok(found.every((frame) => typeof frame.name === "string" && typeof frame.module === "string"));
            assert.equal(found[0].kind, "process");
        }
});

test("a process that changes its name has a frame for each name", () => {
    const tree = new StackTree();

    for (const comm of ["sh", "sh", "demo"])
        tree.add(stackOf({ comm, pid: 3, symbol: "main", module: "/bin/demo" }));
    assert.equal(folded(tree), "demo;main 1\nsh;main 2\n");
    assert.equal(folded(tree.merged()), "main 3\n");
});

test("special characters in a name do not end the name, the stack or the line of folded text", () => {
    const tree = treeOf([
        { frames: [process("a b;c\n"), user("d e;f\t1\n"), kernel("g;h")], weight: 2 },
        { frames: [process("a_b:c?"), user("d e:f?1?", "/other"), kernel("g:h")], weight: 1 },
    ]);

    assert.equal(folded(tree), "a_b:c?;d e:f?1?;g:h_[k] 3\n");
});

test("lines of folded text are sorted by their bytes", () => {
    const names = ["b", "a", "a!", "aa", "é", "\uffee", "\u{1f600}", "\u{1f601}", "Z", ""];
    const tree = treeOf(names.map((name) => ({ frames: [process(name)], weight: 1 })));
    const wanted = names.slice(0, -1).map((name) => Buffer.from(`${name} 1\n`));

    assert.equal(folded(tree), Buffer.concat(wanted.sort(Buffer.compare)).toString());
    assert.equal(folded(new StackTree()), "");
});
