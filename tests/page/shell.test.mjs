// SPDX-License-Identifier: Apache-2.0
// All views: each opens without a complaint, its state is in the URL, and a reader who does not look at it costs the
// daemon nothing.
import assert from "node:assert/strict";
import test, { after } from "node:test";
import { Session, views } from "./browser.mjs";
import { eventually, rest } from "./daemon.mjs";

const session = await Session.open({ config: `
collectors:
  cpu: {groups: [{name: software, events: "{context-switches,minor-faults,cpu-clock}"}]}
  cgroup: {include: ["/"]}
sampler: {enabled: true, event: cpu-clock, frequency: 99, allow: everybody}
` });
after(() => session.close());
const { daemon } = session;

for (const view of views)
    test(`${view} opens without a complaint, asks for nothing while it is hidden, and goes on`, async () => {
        await session.see(`#${view}`, async (tab) => {
            assert.equal(await tab.page.$eval("#views [aria-current=page]", (one) => one.dataset.view), view);
            await tab.until("requests", () => performance.getEntriesByType("resource").some(({ name }) =>
                name.includes("/api/")));
            const show = await tab.hide();
            const hidden = performance.now();

            await rest(2500);
            assert.deepEqual(tab.asked(/./, hidden).map((one) => one.url), []);
            await show();
            if (view !== "profile") // which records when somebody asks it to
                await eventually("requests", () => tab.asked(/api/, hidden).length > 0);
        });
    });

// The daemon's part: what a recording opens is closed within a second.
async function closes(what) {
    const begin = performance.now();

    await eventually(`${what}: the rings are closed`, () => daemon.rings() === 0, 5);
    const took = performance.now() - begin;
    assert.ok(took < 1000, `${what}: they were open for ${Math.round(took)} ms`);
}

async function record(tab) {
    await tab.page.click("main button.main");
    await eventually("rings of the recording", () => daemon.rings() > 0);
}

test("a recording ends when the tab is hidden, another view is shown, or the tab is closed", async () => {
    await session.see("#profile?seconds=30", async (tab) => {
        await record(tab);
        await tab.until("frames", () => [...document.querySelectorAll("main canvas")].some((one) =>
            one.flame?.frames().length > 0));
        const show = await tab.hide();
        await closes("hidden");
        await show();
        await tab.sees(/hidden|background/i, "main");
        await record(tab);
        await tab.page.click("#views [data-view=now]");
        await closes("another view");
        await tab.page.click("#views [data-view=profile]");
        await tab.until("the view", () => document.querySelector("main button.main")?.disabled === false);
        await record(tab);
    });
    await closes("closed");
});

test("what was asked for ends with the tab", async () => {
    await session.see("#now", (tab) => tab.sees(/\d/, "main"));
    await rest(300);
    const before = (await daemon.get("/metrics")).match(/^perfcountd_http_requests_total\S* \S+$/gm) ?? [];
    await rest(2500);
    const after = (await daemon.get("/metrics")).match(/^perfcountd_http_requests_total\S* \S+$/gm) ?? [];
    const sum = (lines) => lines.reduce((total, line) => total + Number(line.split(" ").pop()), 0);

    assert.ok(sum(after) - sum(before) <= 1, `requests: ${sum(after) - sum(before)}, one of them is this test's`);
});

test("the URL restores each view", async () => {
    const states = { services: "?filter=sys&sort=cgroup&order=asc", now: "", health: "",
        profile: "?event=page-faults&seconds=3&cpu=0&search=abc" };

    for (const [view, state] of Object.entries(states))
        await session.see(`#${view}${state}`, async (tab) => {
            await rest(700);
            const values = await tab.page.$$eval("main input", (all) => all.map((one) => one.value));

            for (const [name, value] of new URLSearchParams(state.slice(1)))
                if (["filter", "event", "seconds", "cpu", "search"].includes(name))
                    assert.ok(values.includes(value), `${view}: ${name}=${value} is in a field: ${values}`);
            assert.equal(new URL(tab.page.url()).hash.split("?")[0], `#${view}`);
            for (const [name, value] of new URLSearchParams(state.slice(1)))
                assert.equal(new URLSearchParams(tab.page.url().split("?")[1]).get(name), value);
        });
});

test("Back leads to the view before", async () => {
    await session.see("#now", async (tab) => {
        await tab.page.click("#views [data-view=health]");
        await tab.until("Health", () => document.getElementById("main").dataset.view === "health");
        await tab.page.goBack();
        await tab.until("Now", () => document.getElementById("main").dataset.view === "now");
    });
});

test("two windows with the page do not disturb each other", async () => {
    await session.see("#profile?seconds=2", async (tab) => {
        const other = await session.browser.newPage({ type: "window" });

        await other.goto(`${session.url}/#profile?seconds=2`);
        for (const page of [tab.page, other]) {
            await eventually("a button", () => page.evaluate(() =>
                document.querySelector("button.main:enabled") !== null));
            await page.evaluate(() => document.querySelector("button.main").click());
        }
        for (const page of [tab.page, other]) {
            assert.equal(await page.evaluate(() => document.visibilityState), "visible");
            await eventually("a graph in each", () => page.evaluate(() =>
                [...document.querySelectorAll("main canvas")].some((one) => one.flame?.frames().length > 0)));
        }
        await other.close();
    });
});
