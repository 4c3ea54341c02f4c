// SPDX-License-Identifier: Apache-2.0
// The shell around the views: the header and the title, the order of the focus, print, forced colours.
import assert from "node:assert/strict";
import { hostname } from "node:os";
import { after, before, test } from "node:test";
import { Session } from "./browser.mjs";

const options = { skip: process.env.PAGE_URL ? "the daemon is not this machine's" : false };
let session = null;

before(async () => {
    session = options.skip ? null : await Session.open();
});
after(() => session?.close());

// Media that puppeteer does not know are the debugger's.
async function emulate(tab, media, features = []) {
    const debug = await tab.page.createCDPSession();

    await debug.send("Emulation.setEmulatedMedia", { media, features });
}

const style = (tab, selector, property) => tab.page.$eval(selector, (one, name) =>
    getComputedStyle(one).getPropertyValue(name), property);

test("the header and the title have the machine's name", options, async () => {
    await session.see("#services", async (tab) => {
        await tab.sees(hostname(), "h1");
        assert.equal(await tab.page.title(), `Services – ${hostname()} – perfcountd`);
        await tab.go("#health");
        assert.equal(await tab.page.title(), `Health – ${hostname()} – perfcountd`);
        assert.equal(await tab.page.$eval("main", (main) => main.getAttribute("aria-label")), "Health");
        await tab.sees("Health is shown.", "#notice");
    });
});

test("Tab leads past the header to the content, and through the views", options, async () => {
    await session.see("#services", async (tab) => {
        await tab.key("Tab");
        assert.equal((await tab.focused()).id, "skip");
        assert.ok((await tab.focused()).box[2] > 50, "the button is not seen while it has the focus");
        await tab.key("Enter");
        assert.equal((await tab.focused()).id, "main");
        await tab.page.focus("#skip");
        for (const title of ["Now", "Services", "Profile", "Health"]) {
            await tab.key("Tab");
            assert.equal((await tab.focused()).text, title);
            assert.ok((await tab.focused()).outlined);
        }
    });
});

test("a long name of the machine does not widen the page", options, async () => {
    await session.see("#services", async (tab) => {
        await tab.sees(hostname(), "h1");
        await tab.page.$eval("#machine", (one) => one.textContent = "board".repeat(50));
        assert.deepEqual(await tab.wide(), []);
    }, { width: 360, height: 800 });
});

test("on paper the page is dark on light and has no buttons", options, async () => {
    await session.see("#services", async (tab) => {
        await emulate(tab, "print", [{ name: "prefers-color-scheme", value: "dark" }]);
        assert.equal(await style(tab, "body", "background-color"), "rgb(251, 251, 249)");
        assert.equal(await style(tab, "#views", "display"), "none");
        await emulate(tab, "screen", [{ name: "prefers-color-scheme", value: "dark" }]);
        assert.equal(await style(tab, "body", "background-color"), "rgb(20, 24, 28)");
    });
});

test("with forced colours the line of the view that is shown differs", options, async () => {
    await session.see("#services", async (tab) => {
        await emulate(tab, "screen", [{ name: "forced-colors", value: "active" }]);
        assert.notEqual(await style(tab, "#views [aria-current]", "border-bottom-color"),
            await style(tab, "#views a:not([aria-current])", "border-bottom-color"));
    });
});
