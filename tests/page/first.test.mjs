// SPDX-License-Identifier: Apache-2.0
// A tour of the page in Chromium: each view shows what the daemon counts, can be reached and operated by keyboard
// alone, and causes no error from axe-core, the console or the Content Security Policy.
import assert from "node:assert/strict";
import { hostname } from "node:os";
import test, { after } from "node:test";
import { Session, views } from "./browser.mjs";

const session = await Session.open({ config: `
web: {min_interval: 0s, local_operators: true}
collectors:
  cpu: {groups: [{name: software, events: "{context-switches,minor-faults,cpu-clock}"}]}
  cgroup: {include: ["/"], groups: [{name: software, events: "{context-switches,minor-faults}"}]}
  self: {enabled: false} # wants a hardware PMU
sampler: {enabled: true, event: cpu-clock, frequency: 199, allow: everybody}
` });
after(() => session.close());

// What each view shows when it works.
const shows = {
    async overview(tab) {
        await tab.sees(/\d/, '[data-name="context_switches"] .value');
        await tab.sees(/\d ?%/, '[data-name="used"] .value');
        await tab.sees(/\d ?%/, '[data-cpu="0"]');
        await tab.sees(/[\d.]+ MiB/, "footer");
    },
    async services(tab) {
        await tab.sees(/[1-9]\d* cgroups?\./);
        await tab.sees(/\d/, "tbody td");
    },
    async profile(tab) {
        await tab.record();
        const [frames] = await tab.frames();

        assert.ok(frames.some((one) => one.kind === "process" && one.width > 0));
        await tab.sees(/cpu-clock at 199 Hz, .*[1-9]\d* samples?/, ".panel");
        await tab.sees(/\w/, "main tbody th");
    },
    async health(tab) {
        await tab.sees("All is well", "main");
        await tab.sees(/\d[\d.,]*\s?%\s+[\d.,]+ MiB/, ".cost");
        await tab.sees("Counting.", ".operations .state");
    },
};

// Presses Tab until the focus has visited every focusable element. Checks that each focused element is highlighted and
// that none is skipped.
async function walk(tab) {
    await tab.page.evaluate(() => document.activeElement.blur());
    for (let stop = {}, i = 0; stop; i++) {
        assert.ok(i < 400, "Tab returns to the first element");
        await tab.key("Tab");
        stop = await tab.page.evaluate(() => {
            const at = document.activeElement, style = getComputedStyle(at), box = at.getBoundingClientRect();

            window.stops ??= new Set();
            if (window.stops.has(at))
                return at === document.body ? {} : null;
            window.stops.add(at);
            const outlined = at.tagName === "CANVAS" ||
                style.outlineStyle !== "none" && parseFloat(style.outlineWidth) > 0;
            const within = box.width >= 1 && box.right > 0 && box.bottom > 0 && box.left < innerWidth &&
                box.top < innerHeight;
            return at === document.body || outlined && within ? {} : { fault: at.outerHTML.slice(0, 100) };
        });
        assert.equal(stop?.fault, undefined, "the focus is visible");
    }
    assert.deepEqual(await tab.page.evaluate(() => [...document.querySelectorAll(
        "a[href], button, input, select, summary, textarea, [tabindex='0']")].filter((one) => !one.disabled &&
        one.checkVisibility({ visibilityProperty: true }) && one.tabIndex >= 0 && !window.stops.has(one) &&
        one.type !== "radio").map((one) => one.outerHTML.slice(0, 100))), [], "Tab reaches every focusable element");
}

for (const view of views)
    test(`${view} shows data and can be operated by keyboard`, async () => {
        await session.see(view === "profile" ? "#profile?seconds=0.5" : `#${view}`, async (tab) => {
            assert.equal(await tab.page.$eval("#views [aria-current=page]", (one) => one.dataset.view), view);
            await tab.sees(hostname(), "h1");
            await tab.until("the title", (title) => document.title.toLowerCase() === title.toLowerCase(),
                            `${view} – ${hostname()} – perfcountd`);
            await shows[view](tab);
            await tab.fits();
            assert.deepEqual(await tab.findings(), []);
            await walk(tab);
        });
    });

test("Tab leads from the header to the content, Enter opens each view, Back returns to the previous one", async () => {
    await session.see("#services", async (tab) => {
        const shown = (name) => tab.until(name, (name) => document.getElementById("main").dataset.view === name, name);

        await tab.key("Tab");
        assert.equal((await tab.focused()).id, "skip");
        assert.ok((await tab.focused()).width > 50, "the skip link is visible while it has the focus");
        await tab.key("Enter");
        assert.equal((await tab.focused()).id, "main");
        await tab.page.focus("#skip");
        for (const title of ["Overview", "Services", "Profile", "Health"]) {
            await tab.key("Tab");
            assert.equal((await tab.focused()).text, title);
        }
        await tab.key("Enter");
        await shown("health");
        await tab.sees("Health is shown.", "#notice");
        await tab.page.goBack();
        await shown("services");
    });
});
