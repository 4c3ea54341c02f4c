// SPDX-License-Identifier: Apache-2.0
// For every reader: by keyboard alone, with a screen reader, on small and large screens, light and dark, with reduced
// motion, and without scripts.
import assert from "node:assert/strict";
import test, { after } from "node:test";
import { Session, View, views } from "./browser.mjs";
import { rest } from "./daemon.mjs";

const session = await Session.open({ config: `
collectors:
  cpu: {groups: [{name: software, events: "{context-switches,minor-faults,cpu-clock}"}]}
  cgroup: {include: ["/", "/*"]}
sampler: {enabled: true, event: cpu-clock, frequency: 99, allow: everybody}
web: {local_operators: true}
` });
after(() => session.close());

// Each view with something on it: a recording, a row that is open.
async function fill(tab, view) {
    if (view === "profile") {
        await tab.page.click("main button.main");
        await tab.until("the end of a recording", () => document.querySelector("main button.main").disabled === false &&
            [...document.querySelectorAll("main canvas")].some((one) => one.flame?.frames().length > 0));
    } else {
        await tab.sees(/\d/, "main");
        await rest(1500);
    }
}

const state = { now: "", services: "", profile: "?seconds=0.5", health: "" };

for (const view of views)
    test(`${view}: axe-core finds nothing serious, light and dark; no width makes the page scroll`, async () => {
        await session.see(`#${view}${state[view]}`, async (tab) => {
            await fill(tab, view);
            for (const dark of [false, true]) {
                await tab.look({ dark });
                await rest(300);
                assert.deepEqual(await tab.findings(), [], dark ? "dark" : "light");
            }
            for (const [width, height] of [[360, 640], [3840, 2160], [320, 400]]) {
                await tab.look({ width, height });
                await rest(300);
                assert.deepEqual(await tab.wide(), [], `${width} pixels wide`);
            }
        });
    });

// All that can have the focus, in the order of Tab, until the focus is where it was before. It may begin anywhere, and
// leaves the page once on its way.
async function walk(tab) {
    const stops = [];

    for (let i = 0; i < 400; i++) {
        await tab.key("Tab");
        const stop = await tab.page.evaluate(() => {
            const at = document.activeElement, style = getComputedStyle(at), box = at.getBoundingClientRect();

            window.stops ??= new Set();
            if (at === document.body)
                return {};
            if (window.stops.has(at))
                return null;
            window.stops.add(at);
            return { what: at.outerHTML.slice(0, 100), width: box.width, height: box.height,
                outlined: at.tagName === "CANVAS" ||
                    style.outlineStyle !== "none" && parseFloat(style.outlineWidth) > 0,
                within: box.right > 0 && box.bottom > 0 && box.left < innerWidth && box.top < innerHeight };
        });
        if (!stop)
            return stops;
        if (stop.what)
            stops.push(stop);
    }
    throw new Error("Tab never comes back");
}

for (const view of views)
    test(`${view}: Tab reaches all controls, the focus is seen, and there is no trap`, async () => {
        await session.see(`#${view}${state[view]}`, async (tab) => {
            await fill(tab, view);
            await tab.page.evaluate(() => document.activeElement.blur());
            const stops = await walk(tab);

            assert.deepEqual(stops.filter((stop) => !stop.outlined || !stop.within || stop.width < 1), []);
            const missed = await tab.page.evaluate(() => [...document.querySelectorAll(
                "a[href], button, input, select, summary, textarea, [tabindex='0']")].filter((one) =>
                !one.disabled && one.checkVisibility({ visibilityProperty: true }) && one.tabIndex >= 0 &&
                !window.stops.has(one) && one.type !== "radio").map((one) => one.outerHTML.slice(0, 100)));
            assert.deepEqual(missed, [], "Tab reaches everything");
        });
    });

test("every view is opened by keyboard alone", async () => {
    await session.see("#now", async (tab) => {
        for (const view of views.slice(1)) {
            await tab.page.evaluate(() => document.activeElement.blur());
            for (let i = 0; i < 10 && !(await tab.focused()).text.toLowerCase().startsWith(view); i++)
                await tab.key("Tab");
            await tab.key("Enter");
            await tab.until(view, (name) => document.getElementById("main").dataset.view === name, view);
        }
    });
});

test("with reduced motion nothing moves", async () => {
    for (const view of views)
        await session.see(`#${view}${state[view]}`, async (tab) => {
            await fill(tab, view);
            assert.deepEqual(await tab.page.evaluate(() => [
                ...document.getAnimations().map((one) => String(one.animationName ?? one.transitionProperty)),
                ...[...document.querySelectorAll("*")]
                    .filter((one) => /[1-9]/.test(getComputedStyle(one).transitionDuration))
                    .map((one) => one.outerHTML.slice(0, 80))]), []);
        }, { reduced: true });
});

test("without scripts there is the list of routes", async () => {
    const tab = new View(session, await session.browser.newPage());

    await tab.page.setJavaScriptEnabled(false);
    await tab.page.goto(`${session.url}/`);
    const text = await tab.text();
    for (const path of ["/metrics", "/api/v1/rates", "/api/v1/status", "/-/ready"])
        assert.ok(text.includes(path), `${path} is in the list`);
    await tab.close();
});

test("curl has the list of routes as text, and a text browser in the page's HTML", async () => {
    assert.match(await session.daemon.get("/", { headers: { Accept: "*/*" } }), /^[^<]*\/api\/v1\/rates/);
    const page = await session.daemon.get("/", { headers: { Accept: "text/html" } });

    assert.match(page, /<noscript>[\s\S]*\/api\/v1\/rates[\s\S]*<\/noscript>/);
});
