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

for (const view of views.filter((name) => !["overview", "profile"].includes(name)))
    test(`the board's ${view} has no complaint`, { skip }, async () => {
        await session.see(`#${view}`, async (tab) => {
            await tab.sees(view === "services" ? "load.service" : /Linux|Kernel/, "main");
            await tab.fits();
        });
    });

test("the two kinds of core have CPUs, a clock rate and IPC of their own", { skip }, async () => {
    await session.see("#overview", async (tab) => {
        for (const name of ["cpu_frequency_hertz", "ipc"])
            for (const pmu of pmus)
                await tab.sees(/[\d.,]+/, `[data-name="${name} ${pmu}"] .value`);
        await tab.sees(/Cortex-A55 CPUs [\d,-]+ · [\d.]+ GHz/, ".cores h2");
        assert.equal(await tab.page.$$eval(".cores", (all) => all.length), 2);
        await tab.sees("load.service", ".busiest");
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

// The overview, after a minute of its history.
async function picture(dark, file) {
    await session.see("#overview", async (tab) => {
        await tab.until("six steps of services", () => document.querySelectorAll(".busiest tbody tr").length > 1 &&
            document.querySelector(".stack").stack.shown.ends.length >= 6);
        await tab.page.screenshot({ path: file, type: "png", optimizeForSpeed: false });
    }, { width: 1200, height: 780, dark });
}

for (const dark of [false, true])
    test(`a screenshot can be made, ${dark ? "dark" : "light"}`, { skip }, async () => {
        const file = join(process.env.PICTURES ?? scratch(), dark ? "page-dark.png" : "page-light.png");

        await picture(dark, file);
        assert.ok(existsSync(file) && statSync(file).size > 10000);
        assert.ok(statSync(file).size <= largest, `${statSync(file).size} bytes are too much for the README`);
    });
