// SPDX-License-Identifier: Apache-2.0
// Tests what all views have in common: hidden tabs, a daemon that stops, appearance, and Firefox.
import assert from "node:assert/strict";
import test, { after } from "node:test";
import { Session, View, programOf, views } from "./browser.mjs";
import { eventually } from "./daemon.mjs";

const config = `
collectors:
  cpu: {groups: [{name: software, events: "{context-switches,minor-faults,cpu-clock}"}]}
  cgroup: {include: ["/", "/*"]}
sampler: {enabled: true, event: cpu-clock, frequency: 99, allow: everybody, max_clients: 2}
`;
const session = await Session.open({ config });
after(() => session.close());
const { daemon } = session;
const polling = views.filter((name) => name !== "profile"); // Profile sends requests only while recording
const gone = /ERR_|Failed to load/;

// A view in the visible tab keeps polling; the same view in a hidden tab, and a view that was left, do not.
for (const view of polling)
    test(`${view} sends no requests while it is hidden or left, and then resumes`, async () => {
        await session.see(`#${view}`, async (tab) => {
            await tab.answered();
            const show = await tab.hide();
            const hidden = performance.now();

            await session.see(`#${view}`, async (front) => {
                const asked = () => front.asked(/rates|status/).filter((one) => one.status === 200).length;
                const before = await eventually("an answer", asked);

                await eventually("two more answers", () => asked() >= before + 2);
            });
            assert.deepEqual(tab.asked(/./, hidden).map((one) => one.url), []);
            await show();
            await eventually("requests", () => tab.asked(/api/, hidden).length > 0);
            if (view === "health")
                return;
            await tab.go("#health");
            const left = performance.now();
            await eventually("the requests of Health", () => tab.asked(/status/, left).length >= 2);
            assert.deepEqual(tab.asked(/rates/, left).map((one) => one.url), []);
        });
    });

test("two windows with the page do not disturb each other", async () => {
    await session.see("#profile?seconds=2", async (tab) => {
        const other = new View(session, await session.browser.newPage({ type: "window" }));

        await other.go("#profile?seconds=2", { fresh: true });
        for (const one of [tab, other])
            await one.press("Record");
        for (const one of [tab, other]) {
            assert.equal(await one.page.evaluate(() => document.visibilityState), "visible");
            await one.frames();
        }
        await other.close();
    });
});

for (const view of polling)
    test(`${view} reports a daemon that has stopped, and resumes after its restart`, async () => {
        await session.see(`#${view}`, async (tab) => {
            tab.expect(gone);
            await tab.answered();
            await daemon.stop("SIGKILL");
            await tab.sees("The daemon cannot be reached. The page keeps trying.", "#fault");
            await daemon.again();
            const back = performance.now();
            await eventually("answers", () => tab.asked(/api/, back).some((one) => one.status === 200));
            await tab.until("a hidden error line", () => document.getElementById("fault").hidden);
        });
    });

// --- appearance

for (const view of views)
    test(`${view} fits any width, has no animation, and axe-core reports nothing in the dark theme`, async () => {
        await session.see(view === "profile" ? "#profile?seconds=0.5" : `#${view}`, async (tab) => {
            await tab.answered();
            if (view === "profile")
                await tab.record();
            else
                await tab.sees(/\d/, "main");
            await tab.look({ dark: true });
            assert.deepEqual(await tab.findings(), []);
            for (const [width, height] of [[360, 640], [3840, 2160], [320, 400]]) {
                await tab.look({ width, height });
                await tab.fits();
            }
            assert.deepEqual(await tab.page.evaluate(() => [
                ...document.getAnimations().map((one) => String(one.animationName ?? one.transitionProperty)),
                ...[...document.querySelectorAll("*")]
                    .filter((one) => /[1-9]/.test(getComputedStyle(one).transitionDuration))
                    .map((one) => one.outerHTML.slice(0, 80))]), []);
            await tab.page.$eval("#machine", (one) => one.textContent = "board".repeat(50));
            await tab.fits();
        }, { reduced: true });
    });

test("in print the page is dark on light and has no buttons; with forced colours the current view is marked",
     async () => {
    await session.see("#services", async (tab) => {
        const debug = await tab.page.createCDPSession(); // puppeteer has no function for these features
        const emulate = (media, name, value) =>
            debug.send("Emulation.setEmulatedMedia", { media, features: [{ name, value }] });
        const style = (selector, property) => tab.page.$eval(selector, (one, property) =>
            getComputedStyle(one).getPropertyValue(property), property);

        await emulate("print", "prefers-color-scheme", "dark");
        assert.equal(await style("body", "background-color"), "rgb(244, 246, 248)");
        assert.equal(await style("#views", "display"), "none");
        await emulate("screen", "prefers-color-scheme", "dark");
        assert.equal(await style("body", "background-color"), "rgb(13, 17, 23)");
        await emulate("screen", "forced-colors", "active");
        assert.notEqual(await style("#views [aria-current]", "border-bottom-color"),
                        await style("#views a:not([aria-current])", "border-bottom-color"));
    });
});

test("without scripts, the page shows the list of HTTP paths, and so does curl", async () => {
    const tab = new View(session, await session.browser.newPage());

    await tab.page.setJavaScriptEnabled(false);
    await tab.page.goto(`${session.url}/`);
    const text = await tab.text();
    for (const path of ["/metrics", "/api/v1/rates", "/api/v1/status", "/-/ready"])
        assert.ok(text.includes(path), `${path} is in the list`);
    await tab.close();
    assert.match(await daemon.get("/", { headers: { Accept: "*/*" } }), /^[^<]*\/api\/v1\/rates/);
});

const withoutFirefox = programOf("firefox") ? false : "firefox-esr";
test("Firefox shows each view and can make a recording", { skip: withoutFirefox }, async () => {
    const firefox = await Session.open({ url: session.url, browser: "firefox" });

    try {
        for (const view of views)
            await firefox.see(`#${view}?seconds=1`, async (tab) => {
                await tab.sees(/\w/, "main h2");
                await tab.answered();
                if (view === "profile") {
                    await tab.record();
                    await tab.frames();
                }
                await tab.fits();
            });
    } finally {
        await firefox.close();
    }
});
