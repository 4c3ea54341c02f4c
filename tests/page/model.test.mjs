// SPDX-License-Identifier: Apache-2.0
// The flame graph's model where it runs: in a browser, with the worst that a machine can send.
import assert from "node:assert/strict";
import test, { after } from "node:test";
import { Session } from "./browser.mjs";

const session = await Session.open();
after(() => session.close());

// Runs `body` in the page with the modules of web/flame/ that are named, and returns what it returns.
function flame(names, body, ...values) {
    let answer;

    return session.see("#health", async (tab) => {
        await tab.page.evaluate(async (names) => {
            const modules = names.map((name) => import(new URL(`page/flame/${name}.js`, document.baseURI).href));
            window.model = Object.assign({}, ...await Promise.all(modules));
        }, names);
        answer = await tab.page.evaluate(body, ...values);
    }).then(() => answer);
}

test("the picture is one that a browser shows, whatever the names are", async () => {
    const names = ["<img src=x onerror=alert(1)>", "</svg><script>alert(1)</script>", "]]>", "\0\u001b\u007f",
        "\u202egnp", "\uffff", "&", "\"'", "<".repeat(4096)];
    const size = await flame(["export", "tree"], async (names) => {
        const { StackTree, svg } = window.model, tree = new StackTree(), image = new Image();

        for (const name of [...names, "\ud800"])
            tree.add(["process", "user", "kernel"].map((kind) => ({ name, module: name, kind })));
        image.src = `data:image/svg+xml,${encodeURIComponent(svg(tree, { title: names.join("") }))}`;
        await image.decode(); // throws if it is not well-formed
        return [image.naturalWidth, image.naturalHeight];
    }, names);

    assert.deepEqual(size, [1200, 116]);
});

test("200,000 distinct stacks end up in a bounded tree, and the tab goes on meanwhile", async (context) => {
    const found = await flame(["samples", "tree"], async () => {
        const { readRecords, stackOf, StackTree } = window.model, tree = new StackTree(), coder = new TextEncoder();
        const of = (symbol) => ({ ip: "0x1", symbol, module: "/usr/bin/demo" });
        let n = 0, longest = 0, last = performance.now();
        const body = new ReadableStream({
            async pull(controller) {
                const now = performance.now();
                longest = Math.max(longest, now - last);
                const lines = Array.from({ length: 500 }, () => JSON.stringify({ type: "sample", comm: `p${n % 50}`,
                    callchain: [of(`f${n++}`), of(`g${n % 7919}`), of(`h${n % 6007}`), of("main")] }));
                await new Promise((resolve) => setTimeout(resolve)); // as pieces come from the network
                last = performance.now();
                controller.enqueue(coder.encode(`${lines.join("\n")}\n`));
                if (n >= 200000)
                    controller.close();
            },
        });
        const begin = performance.now();
        const { records, ended } = await readRecords(new Response(body), (record) => tree.add(stackOf(record)));
        return { records, ended, longest, seconds: (performance.now() - begin) / 1000, size: tree.size,
            total: tree.total, lumped: tree.lumped };
    });

    context.diagnostic(`${found.seconds.toFixed(1)} s, ${found.longest.toFixed()} ms at once, ${found.size} nodes`);
    assert.deepEqual([found.records, found.ended, found.total], [200000, "whole", 200000]);
    assert.ok(found.size <= 225001 && found.lumped > 0);
    assert.ok(found.longest < 1000, `${found.longest} ms`);
});

test("a pattern that would hang the tab does not", async () => {
    const shares = await flame(["search", "tree"], () => {
        const { StackTree, search } = window.model, tree = new StackTree();

        tree.add([{ name: `${"a".repeat(4000)}!`, module: "", kind: "user" }]);
        return ["/(a+)+$/", "/(a|a)*!/", "/(a?){40}a{40}!$/"].map((text) => search(tree, text).share);
    });

    assert.deepEqual(shares, [0, 1, 1]);
});

test("the reason why a pattern cannot be used is a sentence", async () => {
    const errors = await flame(["search", "tree"], () => ["/(/", "/[/", "/a**/"].map((text) =>
        window.model.search(new window.model.StackTree(), text).error));

    for (const error of errors)
        assert.match(error, /^The pattern \/.+\/ does not work: \w.*\w\.$/);
});
