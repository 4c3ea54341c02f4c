// SPDX-License-Identifier: Apache-2.0
// The browser's side of page.py: opens the page of a daemon in Chromium. Each line of output is a figure, or marks the
// beginning or the end of a period in which page.py measures the daemon's CPU time.
//
// usage: page.mjs URL SECONDS ROUNDS [VIEW...]
import { writeSync } from "node:fs";
import { createServer } from "node:http";
import { Session, View } from "../tests/page/browser.mjs";
import { eventually } from "../tests/page/daemon.mjs";
import { SimulatedBoard } from "../tests/page/simulated.mjs";

const [url, seconds, rounds, ...views] = process.argv.slice(2);
const ms = Number(seconds) * 1000;
const framesWanted = 20000, pointedFrames = 300, firstRounds = 5;
const rest = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

function say(line) {
    writeSync(1, `${JSON.stringify(line)}\n`);
}

// The CPU time of the tab's main thread in milliseconds: scripts, layout, painting.
async function worker(tab) {
    const client = await tab.page.createCDPSession();

    await client.send("Performance.enable", { timeDomain: "threadTicks" });
    return async () => {
        const { metrics } = await client.send("Performance.getMetrics");

        return metrics.find(({ name }) => name === "TaskDuration").value * 1000;
    };
}

// Runs in the page: records when a measured number is drawn. CPU numbers are ignored, since they are not measured.
function watchNumbers() {
    const places = "main .value, main td, main .cell span, main .legend b";

    new MutationObserver((_, observer) => {
        if ([...document.querySelectorAll(places)].some((one) => /^[≈\s]*[-−]?\d/.test(one.textContent) &&
            one.getClientRects().length > 0)) {
            observer.disconnect();
            requestAnimationFrame(() => window.seen = performance.now());
        }
    }).observe(document, { subtree: true, childList: true, characterData: true });
}

// Measures the time from the request of a page, with an empty browser cache, until the first number is shown.
async function firstView(session, name, url) {
    const page = await session.browser.newPage();
    const work = await worker({ page });

    await page.setCacheEnabled(false);
    await page.evaluateOnNewDocument(watchNumbers);
    say({ begin: name });
    const begin = await work();
    await page.goto(url, { waitUntil: "commit" }).catch(() => page.goto(url));
    const wall = await eventually("a number on the page", () => page.evaluate(() => window.seen ?? null));
    const main = await work() - begin;
    say({ end: name, wall, main });
    await page.close();
}

// Measures the browser's cost for a minimal page with one number, as a reference.
async function firstViews(session) {
    const server = createServer((_, response) => response.setHeader("Content-Type", "text/html")
        .end('<!DOCTYPE html><title>empty</title><main><b class="value">1</b></main>'));

    await new Promise((done) => server.listen(0, "127.0.0.1", done));
    for (let i = 0; i < firstRounds; i++) {
        await firstView(session, "first", `${url}/`);
        await firstView(session, "empty", `http://127.0.0.1:${server.address().port}/`);
    }
    server.close();
}

async function opened(session) {
    for (const view of views)
        await session.see(`#${view}`, async () => {
            await rest(1000); // waits until the page has loaded
            say({ begin: view });
            await rest(ms);
            say({ end: view });
        });
}

// Opens each view in a tab of its own, hidden behind another tab.
async function hidden(session) {
    const tabs = [];

    for (const name of views) {
        const tab = new View(session, await session.browser.newPage());
        await tab.listen();
        await tab.go(`#${name}`, { fresh: true });
        tabs.push(tab);
    }
    await tabs.at(-1).hide();
    await rest(300); // waits until earlier requests are aborted
    const since = performance.now();
    await rest(ms);
    say({ figure: "hidden", value: tabs.reduce((sum, tab) => sum + tab.asked(/./, since).length, 0) });
    for (const tab of tabs)
        await tab.close();
}

// Runs in the page: moves the pointer over the wide chart in each frame.
function point(frames) {
    const chart = document.querySelector(".stack"), box = chart.getBoundingClientRect();
    let n = 0, first = 0;

    return new Promise((resolve) => {
        const step = (now) => {
            first ||= now;
            chart.dispatchEvent(new PointerEvent("pointermove", { bubbles: true, clientY: box.y + 50,
                clientX: box.x + 50 + n * 7 % (box.width - 60) }));
            if (n++ < frames)
                requestAnimationFrame(step);
            else
                resolve({ drawn: frames, seconds: (now - first) / 1000 });
        };
        requestAnimationFrame(step);
    });
}

// Shows an hour of a fictitious machine with 64 CPUs and 500 cgroups; its responses are generated.
async function pointing(session) {
    const services = Object.fromEntries(Array.from({ length: 500 }, (_, i) =>
        [`/system.slice/unit-${i}.service`, [8 / (i + 4)]]));

    await session.see("#health", async (tab) => {
        await new SimulatedBoard({ services, n: 64 }).attach(tab);
        await tab.go("#overview", { fresh: true });
        await tab.sees(/\d/, ".busiest tbody td");
        const work = await worker(tab);
        await tab.page.evaluate(point, 30); // warms up the JavaScript compiler
        const begin = await work(), { drawn, seconds } = await tab.page.evaluate(point, pointedFrames);
        say({ figure: "point", drawn, seconds, work: (await work() - begin) / drawn });
    }, { width: 1440, height: 900 });
}

// Runs in the page: replaces the view with a flame graph of at least this many frames, 40 levels deep.
async function build(wanted) {
    const of = (name) => import(new URL(`page/flame/${name}.js`, document.baseURI).href);
    const [{ FlameGraph }, { StackTree }, { Layout }] = await Promise.all(["graph", "tree", "layout"].map(of));
    const frame = (name) => ({ name, module: "/usr/lib/libc.so.6", kind: name.length % 3 ? "user" : "kernel" });
    const box = document.createElement("section"), tree = new StackTree(), large = new StackTree();
    const depth = 40, stacks = Math.ceil(wanted / depth) + 100;

    for (let i = 0; i < stacks; i++)
        tree.add(Array.from({ length: depth }, (_, k) =>
            frame(k < 6 ? `outer_${k}_${i >> (8 - k)}` : `function_${(i * 31 + k * 17) % 997}`)), 1);
    for (let i = 0; large.size < 200000; i++) // all frames in one row, which is the worst case for the layout
        large.add([frame("main"), frame(`function_${i}`)], 1);
    window.layOut = () => new Layout().lay(large.root, { from: 0, to: 1 }, 1280);
    document.getElementById("main").before(box);
    document.getElementById("main").hidden = true;
    window.graph = new FlameGraph(box);
    box.querySelector(".flame-scroll").style.maxHeight = "none";
    window.graph.setTree(tree);
    return large.size;
}

// Runs in the page: zooms, and returns when frames were drawn and how long that took.
function zoom(target) {
    const { graph } = window, times = [], spent = [];

    graph.zoomTo(target);
    return new Promise((resolve) => {
        const step = (now) => {
            times.push(now);
            spent.push(graph.spent.layout + graph.spent.draw);
            if (graph.zoom.way || times.length < 3)
                requestAnimationFrame(step);
            else
                resolve({ drawn: times.length - 1, ms: times.at(-1) - times[0], spent });
        };
        requestAnimationFrame(step);
    });
}

async function zooming(session) {
    await session.see("#health", async (tab) => {
        const nodes = await tab.page.evaluate(build, framesWanted);
        await tab.until("a drawn graph", () => window.graph.layout.length > 0 && !window.graph.scheduled);
        const work = await worker(tab), first = await work();
        await tab.page.evaluate(() => window.layOut());
        const layout = await work() - first, runs = [];
        const { frames, child } = await tab.page.evaluate(() => ({ frames: window.graph.layout.length,
            child: window.graph.layout.ordered(window.graph.tree.root)[1].name }));
        for (const target of [[child], []]) // warms up the JavaScript compiler
            await tab.page.evaluate(zoom, target);
        const begin = await work();
        for (let i = 0; i < 2 * Number(rounds); i++) {
            runs.push(await tab.page.evaluate(zoom, i % 2 ? [] : [child]));
            await rest(100);
        }
        const drawn = runs.reduce((sum, run) => sum + run.drawn, 0);
        say({ figure: "zoom", frames, nodes, layout, drawn, seconds: runs.reduce((sum, run) => sum + run.ms, 0) / 1000,
              work: (await work() - begin) / drawn, spent: runs.flatMap((run) => run.spent) });
    }, { width: 1280, height: 1000 });
}

const session = await Session.open({ url });

try {
    await firstViews(session);
    await opened(session);
    await hidden(session);
    await pointing(session);
    await zooming(session);
} finally {
    await session.close();
}
process.exit(0);
