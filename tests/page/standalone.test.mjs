// SPDX-License-Identifier: Apache-2.0
// The SVG that `perfcountd record` writes, opened as a file in Chromium: it requests nothing, can be searched, zoomed
// and operated by keyboard, and shows hostile names as text. The stacks come from a simulated daemon.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { createServer } from "node:http";
import { join } from "node:path";
import test, { after } from "node:test";
import { promisify } from "node:util";
import { launch } from "./browser.mjs";
import { scratch } from "./daemon.mjs";

const hostile = '<image href="http://127.0.0.1:9/x" onerror="alert(1)"/></title><script>alert(2)</script>]]>';
const stacks = [
    "app;main;leaf 40", "app;main;leaf;sys_read_[k] 10", "app;main;other 30", `app;${hostile} 10`, "idle;wait 10",
].join("\n") + "\n";
const browser = await launch("chromium");
after(() => browser.close());

// Writes the SVG of `stacks` to a file and returns the URL of this file.
async function picture() {
    const server = createServer((request, response) => response.end(stacks)).listen(0, "127.0.0.1");

    await new Promise((resolve) => server.on("listening", resolve));
    const url = `http://127.0.0.1:${server.address().port}`, file = join(scratch(), "out.svg");
    try {
        await promisify(execFile)(process.env.PERFCOUNTD, ["record", `--url=${url}`, "-o", file]);
    } finally {
        server.close();
    }
    return `file://${file}`;
}

// Calls `body` with a tab that shows the SVG. Fails if the SVG causes an error or requests anything but itself.
async function show(body) {
    const tab = await browser.newPage(), faults = [], url = await picture();

    tab.on("console", (message) => faults.push(message.text()));
    tab.on("pageerror", (error) => faults.push(String(error)));
    tab.on("dialog", (dialog) => {
        faults.push(dialog.message());
        dialog.dismiss();
    });
    tab.on("request", (request) => request.url() === url || faults.push(request.url()));
    await tab.goto(url);
    await body(tab);
    assert.deepEqual(faults, []);
    await tab.close();
}

// Returns {NAME: width} of the visible frames.
function shown(tab) {
    return tab.evaluate(() => Object.fromEntries([...document.querySelectorAll("#frames > g")]
        .filter((one) => getComputedStyle(one).display !== "none")
        .map((one) => [one.querySelector("title").textContent.replace(/: \d+ samples?, [\d.]+ %$/s, ""),
            Number(one.querySelector("rect").getAttribute("width"))])));
}

function text(tab, selector) {
    return tab.evaluate((selector) => document.querySelector(selector).textContent, selector);
}

function click(tab, name) {
    return tab.evaluate((name) => [...document.querySelectorAll("#frames > g")]
        .find((one) => one.querySelector("title").textContent.startsWith(`${name}: `))
        .dispatchEvent(new MouseEvent("click", { bubbles: true })), name);
}

function press(tab, name) {
    return tab.evaluate((name) => [...document.querySelectorAll("button")].find((one) => one.textContent === name)
        .click(), name);
}

test("the SVG shows the shares, and hostile names as text", () => show(async (tab) => {
    const frames = await shown(tab);

    assert.equal(frames.all, 1180);
    assert.equal(frames.main, 944);
    assert.equal(frames.leaf, 590);
    assert.equal(frames[hostile], 118);
    assert.equal(await tab.evaluate(() => document.querySelectorAll("image, script").length), 1,
                 "the only script is the SVG's own");
    assert.match(await text(tab, "title"), /: 10\.0 s, 100 samples$/);
}));

test("a click zooms, and Back and Reset undo the zoom", () => show(async (tab) => {
    const whole = await shown(tab);

    await click(tab, "main");
    assert.deepEqual(await shown(tab), { all: 1180, app: 1180, main: 1180, leaf: 737.5, sys_read: 147.5, other: 442.5 });
    await click(tab, "leaf");
    assert.deepEqual(await shown(tab), { all: 1180, app: 1180, main: 1180, leaf: 1180, sys_read: 236 });
    await press(tab, "Back");
    assert.equal((await shown(tab)).leaf, 737.5);
    await click(tab, "leaf");
    await press(tab, "Reset");
    assert.deepEqual(await shown(tab), whole);
    assert.equal(await tab.evaluate(() => [...document.querySelectorAll("button")][0].disabled), true);
}));

test("a search shows the share of the matching samples", () => show(async (tab) => {
    await tab.type("input", "leaf|wait");
    assert.equal(await text(tab, ".result"), "matches: 60.00 %");
    assert.equal(await tab.evaluate(() => document.querySelectorAll(".match").length), 2);
    await click(tab, "main");
    assert.equal(await text(tab, ".result"), "matches: 62.50 %");
    await tab.type("input", "(");
    assert.match(await text(tab, ".result"), /^not a regular expression: /);
    await press(tab, "Reset");
    assert.equal(await text(tab, ".result"), "");
}));

test("the SVG can be used with the keyboard alone", () => show(async (tab) => {
    for (const key of ["ArrowDown", "ArrowDown", "ArrowDown"])
        await tab.keyboard.press(key);
    assert.equal(await text(tab, ".about"), "leaf: 50 samples, 50.00 %");
    await tab.keyboard.press("Enter");
    assert.equal((await shown(tab)).leaf, 1180);
    await tab.keyboard.press("Backspace");
    assert.equal((await shown(tab)).leaf, 590);
    await tab.keyboard.press("ArrowRight");
    assert.equal(await text(tab, ".about"), "other: 30 samples, 30.00 %");
    await tab.keyboard.press("/");
    await tab.keyboard.type("sys_");
    await tab.keyboard.press("Enter");
    assert.equal(await text(tab, ".result"), "matches: 10.00 %");
    await tab.keyboard.press("Escape");
    assert.equal(await text(tab, ".result"), "");
}));

test("the SVG follows the user's light or dark theme", () => show(async (tab) => {
    const paper = () => tab.evaluate(() => getComputedStyle(document.querySelector(".paper")).fill);

    await tab.emulateMediaFeatures([{ name: "prefers-color-scheme", value: "light" }]);
    assert.equal(await paper(), "rgb(255, 255, 255)");
    await tab.emulateMediaFeatures([{ name: "prefers-color-scheme", value: "dark" }]);
    assert.equal(await paper(), "rgb(22, 25, 28)");
}));
