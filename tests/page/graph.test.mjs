// SPDX-License-Identifier: Apache-2.0
// Tests the flame graph alone, with trees that the tests build: what it draws, which colours are on the screen, and how
// it reacts to keyboard, mouse and touch. unit/ tests layout, zoom and search without a browser.
import assert from "node:assert/strict";
import test, { after } from "node:test";
import { Session } from "./browser.mjs";

const session = await Session.open();
after(() => session.close());

const f = (name, kind = "user", module = "/usr/lib/libx.so") => ({ name, kind, module });
const main = [f("seventy", "process", ""), f("main")];
const plainTree = [
    [[...main, f("parse"), f("copy")], 30],
    [[...main, f("parse")], 10],
    [[...main, f("read"), f("vfs_read", "kernel", "[kernel.kallsyms]")], 30],
    [[f("thirty", "process", ""), f("main"), f("wait")], 30],
];

// Opens a view and inserts a graph of `stacks` above it, as window.graph and window.tree.
function graphed(stacks, body, look = {}) {
    return session.see("#health", async (tab) => {
        await tab.page.evaluate(async (stacks) => {
            const of = (name) => import(new URL(`page/flame/${name}.js`, document.baseURI).href);
            const [{ FlameGraph }, { StackTree }] = await Promise.all([of("graph"), of("tree")]);
            const box = document.createElement("section");

            box.id = "graph";
            document.getElementById("main").before(box);
            window.tree = new StackTree({ depth: 20000 });
            window.zoomed = [];
            for (const [frames, weight] of stacks)
                window.tree.add(frames, weight);
            window.graph = new FlameGraph(box, { onZoom: (path) => window.zoomed.push(path) });
            window.graph.setTree(window.tree);
        }, stacks);
        await settled(tab);
        await body(tab);
    }, { width: 1000, height: 800, ...look });
}

async function settled(tab) {
    await tab.until("a drawn graph", () => {
        const { graph } = window;

        return !graph.scheduled && !graph.stale && graph.layout.length > 0;
    });
}

const frames = (tab) => tab.page.evaluate(() => window.graph.frames());
const frame = (tab, name) => tab.page.evaluate((name) => window.graph.frames().find((one) => one.name === name), name);
const status = (tab) => tab.page.$eval("#graph [role=status]", (one) => one.textContent);
const does = async (tab, action, ...parameters) => {
    await tab.page.evaluate(action, ...parameters);
    await settled(tab);
};

// Returns the centre of a frame, in window coordinates.
async function place(tab, name) {
    const one = await frame(tab, name);
    const box = await tab.page.$eval("#graph canvas", (canvas) => canvas.getBoundingClientRect().toJSON());

    return [box.x + one.x + one.width / 2, box.y + one.y + one.height / 2];
}

async function click(tab, name) {
    await tab.page.mouse.click(...await place(tab, name));
    await settled(tab);
}

async function press(tab, ...keys) {
    await tab.key(...keys);
    await settled(tab);
}

// Returns the colours that the pixels at `points` have in a screenshot, as #rrggbb.
async function pixels(tab, points) {
    const shot = await tab.page.screenshot({ type: "png", encoding: "base64" });

    return tab.page.evaluate(async (shot, points) => {
        const bytes = Uint8Array.from(atob(shot), (one) => one.charCodeAt(0));
        const image = await createImageBitmap(new Blob([bytes], { type: "image/png" }));
        const canvas = Object.assign(document.createElement("canvas"), { width: image.width, height: image.height });
        const context = canvas.getContext("2d", { willReadFrequently: true });

        context.drawImage(image, 0, 0);
        return points.map(([x, y]) => `#${[...context.getImageData(x, y, 1, 1).data.slice(0, 3)].map((one) =>
            one.toString(16).padStart(2, "0")).join("")}`);
    }, shot, points);
}

test("frames are as wide as their share of the tree, and lie below their callers", async () => {
    await graphed(plainTree, async (tab) => {
        const width = await tab.page.evaluate(() => window.graph.width);
        const all = await frames(tab), at = (name) => all.find((one) => one.name === name);

        assert.equal(all.length, 10);
        for (const one of all)
            assert.ok(Math.abs(one.width - one.share * width) <= 1.5, `${one.name}: ${one.width} of ${width}`);
        assert.deepEqual(["all", "seventy", "parse", "copy", "vfs_read"].map((name) => [at(name).row, at(name).share]),
            [[0, 1], [1, 0.7], [3, 0.4], [4, 0.3], [4, 0.3]]);
        const end = (name) => at(name).x + at(name).width;
        assert.ok(at("copy").x >= at("parse").x && end("copy") <= end("parse") && at("read").x >= end("parse"));
    });
});

for (const dark of [false, true])
    test(`the screen shows the colours of the frames, ${dark ? "dark" : "light"}`, async () => {
        await graphed(plainTree, async (tab) => {
            const box = await tab.page.$eval("#graph canvas", (canvas) => canvas.getBoundingClientRect().toJSON());
            const all = await frames(tab);
            // The tested pixel of each frame lies above its label.
            const found = await pixels(tab, all.map((one) => [box.x + one.x + one.width / 2, box.y + one.y + 2]));

            assert.deepEqual(found, all.map((one) => one.colour));
            const [kernel, user] = ["vfs_read", "copy"].map((name) => all.find((one) => one.name === name));
            const low = (one) => [box.x + one.x + one.width / 2, box.y + one.y + one.height - 3];
            const [marked, unmarked] = await pixels(tab, [low(kernel), low(user)]);
            assert.notEqual(marked, kernel.colour, "kernel frames are underlined");
            assert.equal(unmarked, user.colour);
            assert.deepEqual(await tab.findings(), []);
        }, { dark });
    });

test("labels are readable on every colour", async () => {
    for (const dark of [false, true])
        await graphed(plainTree, async (tab) => {
            const worst = await tab.page.evaluate(() => {
                const { colours, ink } = window.graph.painter.colours;
                const light = (value) => value <= 10 ? value / 3294.6 : ((value / 255 + 0.055) / 1.055) ** 2.4;
                const bright = ([r, g, b]) => 0.2126 * light(r) + 0.7152 * light(g) + 0.0722 * light(b) + 0.05;
                const text = bright([1, 3, 5].map((i) => Number.parseInt(ink.slice(i, i + 2), 16)));

                return Math.min(...colours.map((one) => Math.max(bright(one) / text, text / bright(one))));
            });
            assert.ok(worst >= 4.5, `contrast ${worst}, ${dark ? "dark" : "light"}`);
        }, { dark });
});

test("a click zooms in; the callers stay visible, grey and as wide as the graph", async () => {
    await graphed(plainTree, async (tab) => {
        await click(tab, "parse");
        const { width, zoomed } = await tab.page.evaluate(() => ({ width: window.graph.width, zoomed: window.zoomed }));

        assert.deepEqual(zoomed, [["seventy", "main", "parse"]]);
        for (const name of ["all", "seventy", "main", "parse"]) {
            const one = await frame(tab, name);
            assert.ok(Math.abs(one.width - width) <= 1, `${name}: ${one.width}`);
            assert.equal(one.grey, name !== "parse");
        }
        assert.ok(Math.abs((await frame(tab, "copy")).width - 0.75 * width) <= 1.5);
        assert.equal(await frame(tab, "read"), undefined);
        await click(tab, "seventy");
        assert.ok(Math.abs((await frame(tab, "parse")).width - 4 / 7 * width) <= 1.5);
        await click(tab, "all");
        assert.deepEqual((await tab.page.evaluate(() => window.zoomed)).slice(1), [["seventy"], []]);
    });
});

test("the keyboard reaches every frame, and a sentence describes the focused one", async () => {
    await graphed(plainTree, async (tab) => {
        await tab.page.focus("#graph canvas");
        assert.match(await status(tab), /^all, 100 samples, 100% of all, depth 0, 2 children$/);
        await press(tab, "ArrowDown");
        assert.match(await status(tab), /^seventy, process, 70 samples, 70% of all, depth 1, 1 child$/);
        await press(tab, "ArrowRight");
        assert.match(await status(tab), /^thirty, process, /);
        await press(tab, "ArrowRight", "ArrowLeft", "ArrowDown", "ArrowDown");
        assert.match(await status(tab), /^parse, user, .usr.lib.libx.so, 40 samples, 40% of all, 10% self, depth/);
        await press(tab, "ArrowRight", "ArrowDown");
        assert.match(await status(tab), /^vfs_read, kernel, /);
        await press(tab, "Enter");
        assert.deepEqual(await tab.page.evaluate(() => window.zoomed), [["seventy", "main", "read", "vfs_read"]]);
        await press(tab, "Escape");
        assert.match(await status(tab), /^main, .*70% of all, .*100% of main/,
                     "Escape zooms out to the nearest wider ancestor");
        await press(tab, "Home");
        assert.deepEqual(await tab.page.evaluate(() => window.zoomed.at(-1)), []);
        assert.equal((await tab.focused()).outlined, true);
        await does(tab, () => window.graph.setShape("flame"));
        await press(tab, "ArrowUp");
        assert.match(await status(tab), /^seventy/, "in a flame graph, callees are above their callers");
    });
});

test("a flame graph grows upwards", async () => {
    await graphed(plainTree, async (tab) => {
        const [all, copy] = [await frame(tab, "all"), await frame(tab, "copy")];
        await does(tab, () => window.graph.setShape("flame"));
        assert.deepEqual([(await frame(tab, "all")).y, (await frame(tab, "copy")).y], [copy.y, all.y]);
    });
});

test("frames that a search does not match are dimmed", async () => {
    await graphed(plainTree, async (tab) => {
        const before = await frame(tab, "copy");
        await does(tab, () => {
            const found = [...window.tree.nodes()].filter((one) => one.name === "copy");

            window.graph.setSearch(new Set(found));
        });
        assert.deepEqual((await frames(tab)).filter((one) => !one.dim).map((one) => one.name), ["copy"]);
        assert.notEqual((await frame(tab, "copy")).colour, before.colour);
        assert.match(await tab.page.$eval("#graph .flame-legend", (one) => one.textContent), /found/);
        await does(tab, () => window.graph.setSearch(null));
        assert.equal((await frame(tab, "copy")).colour, before.colour);
        assert.equal((await frames(tab)).some((one) => one.dim), false);
    });
});

test("increases and decreases have different colours, and are shown as numbers", async () => {
    await graphed(plainTree, async (tab) => {
        await tab.page.evaluate(async () => {
            const of = (name) => import(new URL(`page/flame/${name}.js`, document.baseURI).href);
            const { difference, StackTree } = await of("tree");
            const before = new StackTree(), step = (name) => ({ name, kind: "user", module: "/usr/lib/libx.so" });
            const process = (name) => ({ name, kind: "process", module: "" });

            // With so many samples every difference is significant, except for one new, rare frame.
            const after = new StackTree();
            before.add([process("seventy"), step("main"), step("parse"), step("copy")], 7000);
            before.add([process("thirty"), step("main"), step("wait")], 3000);
            for (const node of window.tree.nodes())
                after.add(node.path(), 1000 * node.self);
            after.add([process("rare")], 3);
            window.graph.setTree(difference(before, after));
            window.rare = [...window.graph.tree.root.children.values()].find((one) => one.name === "rare");
            window.graph.setDifference(true);
        });
        await settled(tab);
        const colours = await tab.page.evaluate(() => ["less", "same", "more", "neutral"].map((name) =>
            getComputedStyle(document.documentElement).getPropertyValue(`--flame-${name}`).trim()));
        const of = Object.fromEntries((await frames(tab)).map((one) => [one.name, one.colour]));
        // The share of copy falls from 70 to 30 %, the share of read rises from 0 to 30 %, and the share of seventy
        // stays the same.
        assert.deepEqual([of.copy, of.seventy], [colours[0], colours[3]]);
        assert.equal(await tab.page.evaluate(() => window.graph.painter.colour(window.rare, 1, window.graph.view()) ===
            window.graph.painter.colours.unsure()), true, "three samples are not significant");
        const [from, to, read] = [colours[1], colours[2], of.read].map((one) => Number.parseInt(one.slice(5), 16));
        assert.ok((read - from) / (to - from) > 0.7, "read increases nearly as much as copy decreases");
        assert.match(await tab.page.$eval("#graph .flame-legend", (one) => one.textContent), /−40%.*\+40%.*may be chance/);
        await tab.page.mouse.move(...await place(tab, "copy"));
        const tip = await tab.page.$eval("#graph .flame-tip", (one) => one.textContent);
        assert.match(tip, /before 70%, after 30%: −40% ± 1\.\d+%/);
    });
});

test("the graph follows the width of its container and the pixel ratio of the screen", async () => {
    await graphed(plainTree, async (tab) => {
        await tab.look({ width: 400, height: 800, scale: 2 });
        await tab.until("the new width", () => window.graph.width < 400 && window.graph.painter.scale === 2);
        await settled(tab);
        const [width, wide] = await tab.page.evaluate(() => [window.graph.width, window.graph.canvas.width]);
        assert.equal(wide, width * 2);
        assert.ok(Math.abs((await frame(tab, "parse")).width - 0.4 * width) <= 1);
        await tab.fits();
    });
});

test("hostile names are shown as text", async () => {
    const names = ["<img src=x onerror=alert(1)>", "a\u202egpj.exe", "\u0000\u001b[31m", "x".repeat(4096), "\ud800", "",
        "__proto__", "مرحبا", "\ufffd\ufffd"];

    await graphed([[names.map((name) => f(name)), 1]], async (tab) => {
        assert.deepEqual((await frames(tab)).map((one) => one.name), ["all", ...names]);
        await tab.page.focus("#graph canvas");
        for (const name of names) {
            await press(tab, "ArrowDown");
            await tab.page.mouse.move(...await place(tab, name));
            const said = `${await status(tab)}${await tab.page.$eval("#graph .flame-tip", (one) => one.textContent)}`;
            assert.doesNotMatch(said, /[\u0000-\u001f\u202e]/);
            assert.ok(said.length < 4000);
        }
        await press(tab, "Enter");
        assert.equal(await tab.page.$$eval("img", (all) => all.length), 0);
        await tab.fits();
    });
});

test("a stack of 10,000 frames scrolls inside the graph", async () => {
    const deep = Array.from({ length: 10000 }, (_, i) => f(`recursion_${i}`));

    await graphed([[deep, 1]], async (tab) => {
        assert.equal(await tab.page.evaluate(() => window.graph.frames().length), 10001);
        const [canvas, high] = await tab.page.evaluate(() => [window.graph.canvas.height,
            window.graph.container.clientHeight]);
        assert.ok(canvas <= 800 && high <= 800, `${canvas} ${high}`);
        await does(tab, (path) => window.graph.zoomTo(path), deep.map((one) => one.name));
        await does(tab, () => window.graph.reveal(window.graph.zoom.node));
        const last = await frame(tab, "recursion_9999");
        assert.ok(last.y > 0 && last.y < canvas, `${last.y}`);
        await does(tab, () => window.graph.setShape("flame"));
        assert.ok((await frame(tab, "recursion_9999")).y >= 0);
    });
});

test("a growing tree keeps the zoom, the focus and the order of frames", async () => {
    await graphed(plainTree, async (tab) => {
        await click(tab, "parse");
        await does(tab, () => {
            const parse = [{ name: "seventy", kind: "process", module: "" },
                ...["main", "parse", "append"].map((name) => ({ name, kind: "user", module: "/usr/lib/libx.so" }))];

            window.tree.add(parse, 40);
            window.graph.setTree(window.tree);
        });
        const width = await tab.page.evaluate(() => window.graph.width);
        assert.ok(Math.abs((await frame(tab, "parse")).width - width) <= 1);
        assert.ok(Math.abs((await frame(tab, "append")).width - width / 2) <= 1.5);
        assert.ok((await frame(tab, "append")).x < (await frame(tab, "copy")).x);
        assert.equal(await tab.page.evaluate(() => window.graph.focused.name), "parse");
        await does(tab, () => window.graph.setTree(window.tree.merged()));
        assert.equal(await tab.page.evaluate(() => window.graph.zoom.node.name), "all",
                     "the merged tree has no processes, so the zoom is reset");
        await does(tab, () => window.graph.setTree(window.tree));
        assert.equal(await tab.page.evaluate(() => window.graph.zoom.node.name), "parse", "the zoom path is kept");
    });
});

test("nothing is drawn while nothing changes; with reduced motion a zoom is drawn once", async () => {
    await graphed(plainTree, async (tab) => {
        await tab.page.evaluate(() => {
            const { painter } = window.graph, paint = painter.paint.bind(painter);

            window.drawn = 0;
            painter.paint = (...all) => {
                window.drawn++;
                paint(...all);
            };
        });
        await tab.page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
        assert.equal(await tab.page.evaluate(() => window.drawn), 0, "nothing is drawn in two animation frames");
        await does(tab, () => window.graph.zoomTo(["seventy", "main"]));
        assert.equal(await tab.page.evaluate(() => window.drawn), 1);
    }, { reduced: true });
});

test("the first tap shows the tooltip, the second one zooms", async () => {
    await graphed(plainTree, async (tab) => {
        const at = await place(tab, "parse");
        await tab.page.touchscreen.tap(...at);
        await tab.until("a tooltip", () => !document.querySelector("#graph .flame-tip").hidden);
        assert.deepEqual(await tab.page.evaluate(() => window.zoomed), []);
        await tab.page.touchscreen.tap(...at);
        await tab.until("a zoom", () => window.zoomed.length === 1);
        await settled(tab);
    });
});

test("a browser can show the exported SVG, whatever the names are", async () => {
    const names = ["<img src=x onerror=alert(1)>", "</svg><script>alert(1)</script>", "]]>", "\0\u001b\u007f",
        "\u202egnp", "\uffff", "&", "\"'", "<".repeat(4096)];
    const size = await session.see("#health", (tab) => tab.page.evaluate(async (names) => {
        const of = (name) => import(new URL(`page/flame/${name}.js`, document.baseURI).href);
        const { svg } = await of("export"), { StackTree } = await of("tree");
        const tree = new StackTree(), image = new Image();

        for (const name of [...names, "\ud800"])
            tree.add(["process", "user", "kernel"].map((kind) => ({ name, module: name, kind })));
        image.src = `data:image/svg+xml,${encodeURIComponent(svg(tree, { title: names.join("") }))}`;
        await image.decode(); // throws if the SVG is not well-formed
        return [image.naturalWidth, image.naturalHeight];
    }, names));

    assert.deepEqual(size, [1200, 116]);
});
