// SPDX-License-Identifier: Apache-2.0
// Untrusted names of programs, functions, files and events, and untrusted text in links, are shown as text.
// services.test.mjs tests cgroup names.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { join } from "node:path";
import test, { after } from "node:test";
import { Session, root, views } from "./browser.mjs";
import { eventually, scratch } from "./daemon.mjs";

const markup = '<img src=x onerror="window.ran=1">';
const strangers = spawn(join(root, "tests/page/hostile.sh"), [scratch()], { stdio: ["pipe", "pipe", "inherit"] });
let said = "";
strangers.stdout.on("data", (text) => said += text);
await eventually("the programs with hostile names", () => said.startsWith("ready") || strangers.exitCode !== null);

const session = await Session.open({ config: `
collectors:
  cpu:
    groups:
      - {name: software, events: "{context-switches,minor-faults}"}
      - {name: "<plaintext id=ran>", events: "no_pmu/name=<plaintext>/"}
  cgroup: {enabled: false}
sampler: {enabled: true, event: cpu-clock, frequency: 199, allow: everybody}
` });
after(async () => {
    await session.close();
    strangers.stdin.end();
    await new Promise((resolve) => strangers.once("exit", resolve));
});

// Checks that no part of a name has become an element, has run as a script or has caused a request, and that the page
// is no wider than the window.
async function inert(tab) {
    const found = await tab.page.evaluate(() => ({
        ran: window.ran ?? null,
        elements: document.querySelectorAll("img, plaintext, #ran, main b[id], main i[id]").length,
        handlers: document.querySelectorAll("[onerror], [onload]").length,
        controls: document.body.textContent.match(/[\u202a-\u202e\u2066-\u2069]/g),
    }));

    assert.deepEqual(found, { ran: null, elements: 0, handlers: 0, controls: null });
    assert.deepEqual(tab.requests.map((one) => new URL(one.url).pathname).filter((path) => /\/x$/.test(path)), []);
    await tab.fits();
}

test("an untrusted event name is shown as text in the list of uncounted events", async () => {
    await session.see("#health", async (tab) => {
        await tab.sees("<plaintext id=ran>", "main");
        await inert(tab);
    });
});

test("an untrusted event name is shown as text in the daemon's error message", async () => {
    await session.see(`#profile?event=${encodeURIComponent(`${markup}\u202e`)}`, async (tab) => {
        tab.expect(/status of 400/);
        await tab.page.click("main button.main");
        await tab.sees(/parameter "event"/, "main");
        await inert(tab);
    });
});

test("untrusted names of programs, threads, functions and files are shown as text in frames", async () => {
    await eventually("the symbols of the programs", async () => {
        const text = await session.daemon.get("/api/v1/folded?seconds=0.3");

        return text.includes(markup) && text.includes("nnnnnnnn");
    });
    await session.see("#profile?seconds=2", async (tab) => {
        await tab.page.click("main button.main");
        await tab.until("frames of the functions with markup and with the long name", (markup) => {
            const graphs = [...document.querySelectorAll("main canvas")].map((one) => one.flame);
            const names = graphs.flatMap((graph) => graph?.frames() ?? []).map((frame) => frame.name);

            return names.includes(markup) && names.some((name) => name.includes("nnnnnnnn"))
        }, markup);
        await tab.until("the end of the recording", () => !document.querySelector("main button.main").disabled);
        await inert(tab);
        await tab.sees("<img src=x", "main table");
        await tab.page.mouse.move(640, 500);
        for (const look of [{ width: 360, height: 700 }, { width: 1280, height: 800 }]) {
            await tab.look(look);
            await inert(tab);
        }
        await tab.page.focus("main canvas").catch(() => {});
        await tab.key("ArrowDown", "ArrowUp", "ArrowRight", "Enter", "Escape");
        await inert(tab);
    });
});

test("the contents of an untrusted link are shown as text", async () => {
    const text = encodeURIComponent(`${markup}\u202e`), long = "n".repeat(4000);
    const states = ["filter", "sort", "columns", "open", "event", "search", "cgroup", "pid", "cpu", "zoom", "seconds",
        "frequency", "shape", "by", "range", "from", "to"];

    for (const view of views)
        for (const value of [text, long])
            await session.see(`#${view}?${states.map((name) => `${name}=${value}`).join("&")}`, async (tab) => {
                await tab.sees(/./, "main h2");
                await tab.answered();
                await inert(tab);
            });
    await session.see("#health", async (tab) => {
        await tab.page.goto(`${session.url}/#${text}`);
        await tab.until("the first view, since the requested one does not exist", () =>
            document.getElementById("main").dataset.view === "overview");
        await inert(tab);
    });
});
