// SPDX-License-Identifier: Apache-2.0
// Tests the page of an emulated board with two kinds of core. tests/dashboards.sh runs this file with the URL of the
// board's daemon in PAGE_BOARD. The README's pictures, page-light.png and page-dark.png, are written to the folder
// in PICTURES, and screenshots of each view to the folder in GALLERY.
import assert from "node:assert/strict";
import { statSync } from "node:fs";
import path from "node:path";
import test, { after } from "node:test";
import { Session, views } from "./browser.mjs";
import { scratch } from "./daemon.mjs";

const skip = process.env.PAGE_BOARD ? false : "a board in PAGE_BOARD, which tests/dashboards.sh sets";
const session = skip ? null : await Session.open({ url: process.env.PAGE_BOARD });
after(() => session?.close());
const pmus = ["armv8_cortex_a55", "armv8_cortex_a76"], largest = 300 * 1024;
// Width of the README's picture, in pixels.
const width = 1440;
const gallery = process.env.GALLERY;

for (const view of views.filter((name) => !["overview", "profile"].includes(name)))
    test(`the board's ${view} view causes no error`, { skip }, async () => {
        await session.see(`#${view}`, async (tab) => {
            await tab.sees(view === "services" ? "load.service" : /Linux|Kernel/, "main");
            await tab.fits();
        });
    });

test("each kind of core is shown with its CPUs, clock rate and IPC", { skip }, async () => {
    await session.see("#overview", async (tab) => {
        for (const name of ["cpu_frequency_hertz", "ipc"])
            for (const pmu of pmus)
                await tab.sees(/[\d.,]+/, `[data-name="${name} ${pmu}"] .value`);
        await tab.sees(/Cortex-A55 CPUs [\d,-]+ · [\d.]+ GHz/, ".cores h2");
        assert.equal(await tab.page.$$eval(".cores", (all) => all.length), 2);
        await tab.sees("load.service", ".busiest");
    });
});

test("a flame graph of cycles contains the busy program", { skip }, async () => {
    await session.see("#profile?seconds=4&event=cycles", async (tab) => {
        await tab.record();
        const found = (await tab.frames()).flat();

        assert.ok(found.some(({ name, kind }) => kind === "process" && name === "spin"), JSON.stringify(found));
        assert.ok(found.some(({ kind }) => kind === "user"), "the graph has frames of the program");
    });
});

// Waits until the overview has a minute of history.
function overviewIsFull(tab) {
    return tab.until("six steps with services", () => document.querySelectorAll(".busiest tbody tr").length > 1 &&
        document.querySelector(".stack").stack.shown.ends.length >= 6 &&
        [...document.querySelectorAll(".cell")].every((one) => one.innerText.includes("%")));
}

// Joins screenshots into one picture, from top to bottom.
async function join(pictures, width, file) {
    const page = await session.browser.newPage();
    const images = pictures.map((bytes) => `<img src="data:image/png;base64,${bytes}" width="${width}">`);

    await page.setViewport({ width, height: 100 });
    await page.setContent(`<style>body { margin: 0 } img { display: block }</style>${images.join("")}`);
    await page.screenshot({ path: file, type: "png", fullPage: true });
    await page.close();
}

for (const dark of [false, true])
    test(`the README's picture can be created, ${dark ? "dark" : "light"}`, { skip }, async () => {
        const file = path.join(process.env.PICTURES ?? scratch(), dark ? "page-dark.png" : "page-light.png");
        const pictures = [];

        await session.see("#overview", async (tab) => {
            await overviewIsFull(tab);
            // The footer has the daemon's CPU time, which says nothing on an emulated CPU.
            const { y } = await (await tab.page.$("footer")).boundingBox();

            pictures.push(await tab.page.screenshot({ encoding: "base64", clip: { x: 0, y: 0, width, height: y } }));
        }, { width, height: 900, dark });
        await session.see("#profile?seconds=10&event=cycles", async (tab) => {
            await tab.record();
            await tab.frames();
            const { y } = await (await tab.page.$("main canvas")).boundingBox();
            const clip = { x: 0, y: y - 8, width, height: 260 };

            pictures.push(await tab.page.screenshot({ encoding: "base64", clip }));
        }, { width, height: 900, dark });
        await join(pictures, width, file);
        assert.ok(statSync(file).size > 10000);
        assert.ok(statSync(file).size <= largest, `${statSync(file).size} bytes exceed the limit for the README`);
    });

// Screenshots for visual inspection: each view at three widths.
for (const view of views)
    for (const wide of [390, 1440, 2560])
        for (const dark of [false, true])
            test(`a screenshot shows ${view} at ${wide} pixels, ${dark ? "dark" : "light"}`, { skip: skip || !gallery },
                 async () => {
                const file = path.join(gallery, `${view}-${wide}-${dark ? "dark" : "light"}.png`);

                await session.see(`#${view}`, async (tab) => {
                    if (view === "overview")
                        await overviewIsFull(tab);
                    if (view === "services")
                        await tab.sees("load.service", "main");
                    if (view === "profile") {
                        await tab.record();
                        await tab.frames();
                    }
                    await tab.fits();
                    await tab.page.screenshot({ path: file, fullPage: true });
                }, { width: wide, height: 900, dark });
            });
