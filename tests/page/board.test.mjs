// SPDX-License-Identifier: Apache-2.0
// The page of an emulated board with two kinds of core, whose daemon is at PAGE_BOARD: tests/dashboards.sh runs this.
// The screenshots of the README are written to the folder PICTURES: page-light.png and page-dark.png.
import assert from "node:assert/strict";
import { existsSync, statSync } from "node:fs";
import { join } from "node:path";
import test, { after } from "node:test";
import { Session, views } from "./browser.mjs";
import { scratch } from "./daemon.mjs";

const skip = process.env.PAGE_BOARD ? false : "a board in PAGE_BOARD, which tests/dashboards.sh sets";
const session = skip ? null : await Session.open({ url: process.env.PAGE_BOARD });
after(() => session?.close());
const pmus = ["armv8_cortex_a55", "armv8_cortex_a76"], largest = 150 * 1024;

for (const view of views.filter((name) => !["now", "profile"].includes(name)))
    test(`the board's ${view} has no complaint`, { skip }, async () => {
        await session.see(`#${view}`, async (tab) => {
            await tab.sees(view === "services" ? "load.service" : /Linux|Kernel/, "main");
            await tab.fits();
        });
    });

test("the two kinds of core are two cards, with IPC as a number", { skip }, async () => {
    await session.see("#now", async (tab) => {
        for (const pmu of pmus)
            await tab.sees(/IPC\s*\W*[\d.,]+/, `section[data-pmu="${pmu}"]`);
        assert.equal(await tab.page.$$eval("section[data-pmu*=cortex]", (all) => all.length), 2);
    });
});

test("a flame graph of cycles has the program that is busy there", { skip }, async () => {
    await session.see("#profile?seconds=4&event=cycles", async (tab) => {
        await tab.record();
        const found = (await tab.frames()).flat();

        assert.ok(found.some(({ name, kind }) => kind === "process" && name === "spin"), JSON.stringify(found));
        assert.ok(found.some(({ kind }) => kind === "user"), "it has frames of the program");
    });
});

// Two views side by side.
async function picture(dark, file) {
    const parts = [];

    for (const hash of ["#now", "#profile?seconds=5&event=cycles"])
        await session.see(hash, async (tab) => {
            if (hash === "#now")
                await tab.until("six values of a line", () => {
                    const { line } = document.querySelector(".line") ?? {};
                    return line && line.history.points(line.name).length >= 6;
                });
            else
                await tab.record().then(() => tab.frames());
            parts.push(await tab.page.screenshot({ type: "png", encoding: "base64" }));
        }, { width: 640, height: 720, dark });
    const tab = await session.browser.newPage();
    await tab.setViewport({ width: 1288, height: 720 });
    await tab.setContent(`<body style="margin:0;display:flex;gap:8px;background:${dark ? "#000" : "#ddd"}">` +
        parts.map((part) => `<img src="data:image/png;base64,${part}">`).join(""));
    await tab.screenshot({ path: file, type: "png", optimizeForSpeed: false });
    await tab.close();
}

for (const dark of [false, true])
    test(`a screenshot can be made, ${dark ? "dark" : "light"}`, { skip }, async () => {
        const file = join(process.env.PICTURES ?? scratch(), dark ? "page-dark.png" : "page-light.png");

        await picture(dark, file);
        assert.ok(existsSync(file) && statSync(file).size > 10000);
        assert.ok(statSync(file).size <= largest, `${statSync(file).size} bytes are too much for the README`);
    });
