// SPDX-License-Identifier: Apache-2.0
// Runs the page in a browser. A test fails if the page logs an error, throws an exception, violates the Content
// Security Policy, or sends a request to another origin.
import assert from "node:assert/strict";
import { accessSync, constants, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { Daemon, eventually, scratch } from "./daemon.mjs";

export const root = join(dirname(fileURLToPath(import.meta.url)), "../..");
// Loads the packages that install.sh installs.
export const modules = createRequire(join(process.env.PAGE_TOOLS ?? join(root, "build/tools/page"), "package.json"));
const programs = { chromium: ["chromium", "chromium-browser", "google-chrome"], firefox: ["firefox-esr", "firefox"] };
export const views = ["overview", "services", "profile", "health"];

export function programOf(browser) {
    for (const folder of process.env.PATH.split(delimiter))
        for (const name of programs[browser])
            try {
                accessSync(join(folder, name), constants.X_OK);
                return join(folder, name);
            } catch {
                // not installed
            }
    return null;
}

export async function launch(name) {
    const { default: puppeteer } = modules("puppeteer-core");
    const flags = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
        "--disable-background-networking", "--disable-component-update", "--force-color-profile=srgb"];

    return puppeteer.launch({
        browser: name === "firefox" ? "firefox" : "chrome",
        executablePath: programOf(name),
        headless: true,
        acceptInsecureCerts: true,
        userDataDir: scratch(),
        args: name === "firefox" ? [] : flags,
        env: { ...process.env, HOME: scratch(), LANG: "C.UTF-8" },
        defaultViewport: { width: 1280, height: 800 },
    });
}

// A tab that shows a view of the page.
export class View {
    constructor(session, page) {
        this.session = session;
        this.page = page;
        this.requests = []; // {method, url, begin, end, status, failure}; times are from performance.now()
        this.faults = [];
        this.expected = [];
    }

    async listen() {
        const seen = new Map();

        this.page.on("console", (message) => {
            if (["error", "warn", "warning", "assert"].includes(message.type()))
                this.faults.push(`console: ${message.text()} ${message.location()?.url ?? ""}`.trim());
        });
        this.page.on("pageerror", (error) => this.faults.push(`exception: ${error?.stack ?? error}`));
        this.page.on("dialog", (dialog) => {
            this.faults.push(`dialog: ${dialog.message()}`);
            dialog.dismiss().catch(() => {});
        });
        this.page.on("request", (request) => {
            const one = { method: request.method(), url: request.url(), begin: performance.now() };

            seen.set(request, one);
            this.requests.push(one);
            if (!/^(data|blob|about):/.test(one.url) && new URL(one.url).origin !== new URL(this.session.url).origin)
                this.faults.push(`a request to elsewhere: ${one.url}`);
        });
        this.page.on("response", (response) => {
            const asked = seen.get(response.request()) ?? {};

            Object.assign(asked, { status: response.status(), headers: response.headers() });
        });
        for (const event of ["requestfinished", "requestfailed"])
            this.page.on(event, (request) => Object.assign(seen.get(request) ?? {},
                { end: performance.now(), failure: request.failure()?.errorText ?? null }));
        await this.page.evaluateOnNewDocument(() => {
            document.addEventListener("securitypolicyviolation", (event) => console.error(
                `policy: ${event.violatedDirective} ${event.blockedURI} ${event.sourceFile}:${event.lineNumber}`));
        });
    }

    // Emulates a window size, a pixel ratio, and the user's preferences. Settings that are omitted do not change.
    async look({ width, height, scale = 1, dark, reduced } = {}) {
        const features = [];

        if (width)
            await this.page.setViewport({ width, height: height ?? 800, deviceScaleFactor: scale });
        if (dark !== undefined)
            features.push({ name: "prefers-color-scheme", value: dark ? "dark" : "light" });
        if (reduced !== undefined)
            features.push({ name: "prefers-reduced-motion", value: reduced ? "reduce" : "no-preference" });
        if (features.length > 0)
            await this.page.emulateMediaFeatures(features);
    }

    // Goes to "#VIEW?STATE" as if the user had typed the URL, and waits for the view. `fresh` reloads the page.
    async go(hash, { fresh = false } = {}) {
        const url = `${this.session.url}/${hash}`;

        if (fresh && this.page.url().startsWith(this.session.url))
            await this.page.goto("about:blank");
        await this.page.goto(url, { waitUntil: fresh ? "load" : undefined });
        const name = hash.replace(/^#/, "").split("?")[0] || views[0];

        await this.until(`the view ${name}`, (view) => document.getElementById("main")?.dataset.view === view, name);
    }

    // Ignores errors that match `pattern`, because the test provokes them.
    expect(pattern) {
        this.expected.push(pattern);
    }

    complaints() {
        return this.faults.filter((fault) => !this.expected.some((pattern) => pattern.test(fault)));
    }

    // Runs a function in the page until it returns a truthy value, and returns that value.
    async until(what, inside, ...parameters) {
        return eventually(() => this.awaited(what), () => this.inside(inside, ...parameters));
    }

    awaited(what) {
        return `${what}; complaints: ${this.complaints().join(" | ") || "none"}`;
    }

    // Runs a function in the page and returns its result, or null while the page is loading.
    inside(inside, ...parameters) {
        return this.page.evaluate(inside, ...parameters).catch((error) => {
            if (/context|detached|navigat/i.test(error.message))
                return null;
            throw error;
        });
    }

    // Waits until the page has received an answer from the daemon.
    answered() {
        return this.until("an answer from the daemon", () => performance.getEntriesByType("resource").some(({ name }) =>
            name.includes("/api/")));
    }

    // Clicks the button with this text.
    press(text, within = "main") {
        return this.until(`the button ${text}`, (text, within) => {
            const button = [...document.querySelectorAll(`${within} button`)]
                .find((one) => one.offsetParent && one.textContent === text && !one.disabled);

            button?.click();
            return Boolean(button);
        }, text, within);
    }

    // Waits until each visible flame graph is drawn. Returns a list of frames for each graph.
    frames() {
        return this.until("a drawn flame graph", () => {
            const graphs = [...document.querySelectorAll("main canvas")].filter((one) => one.offsetParent)
                .map((one) => one.flame).filter(Boolean);

            const drawn = (one) => !one.scheduled && !one.stale && one.frames().length > 1;

            return graphs.length > 0 && graphs.every(drawn) && graphs.map((one) => one.frames());
        });
    }

    // Waits until the Profile view has at least this many samples.
    samples(least) {
        return this.until(`${least} samples`, (least) => Number(/([\d,]+) samples?/
            .exec(document.querySelector(".progress").innerText)?.[1].replace(/,/g, "")) >= least, least);
    }

    // Starts a recording and waits until it ends.
    async record() {
        await this.press("Record");
        await this.idle();
    }

    idle() {
        return this.until("the end of the recording", () =>
            document.querySelector("main button.main:enabled") !== null);
    }

    // Waits until `text`, a string or a regular expression, is visible.
    async sees(text, selector = "body") {
        let seen = "";

        return eventually(() => `${this.awaited(`text ${text} in ${selector}`)}; seen: ${seen.slice(0, 500)}`,
            async () => {
                seen = await this.inside((selector) => [...document.querySelectorAll(selector)]
                    .map((one) => one.innerText).join("\n"), selector) ?? "";
                return text instanceof RegExp ? text.test(seen) : seen.includes(text);
            });
    }

    // Returns the visible text of an element.
    text(selector = "body") {
        return this.page.evaluate((selector) => document.querySelector(selector)?.innerText ?? null, selector);
    }

    // Opens a tab with `url` in front of this tab. Returns a function that brings this tab to the front again.
    async hide(url = "about:blank") {
        const front = await this.session.browser.newPage();

        await front.goto(url);
        await front.bringToFront();
        await this.until("a hidden page", () => document.visibilityState === "hidden");
        return async () => {
            await this.page.bringToFront();
            await front.close();
            await this.until("a tab in front", () => document.visibilityState === "visible");
        };
    }

    // Returns the requests that began at or after a time and whose URLs match `pattern`.
    asked(pattern, after = 0) {
        return this.requests.filter((one) => one.begin >= after && pattern.test(one.url));
    }

    async key(...names) {
        for (const name of names)
            await this.page.keyboard.press(name);
    }

    // Returns the focused element.
    focused() {
        return this.page.evaluate(() => {
            const at = document.activeElement, box = at.getBoundingClientRect(), style = getComputedStyle(at);

            return { tag: at.tagName.toLowerCase(), id: at.id, width: box.width,
                text: (at.getAttribute("aria-label") ?? at.innerText ?? "").slice(0, 60),
                outlined: style.outlineStyle !== "none" && parseFloat(style.outlineWidth) > 0 };
        });
    }

    // Waits until the page is no wider than the window.
    fits() {
        let wide;

        return eventually(() => `a page without a horizontal scrollbar: ${wide}`, async () => {
            wide = await this.page.evaluate(() => {
                const whole = document.documentElement, width = whole.clientWidth;
                const all = [...document.querySelectorAll("body *")].filter((one) => !one.closest(".scroll") &&
                    one.getBoundingClientRect().right > width);

                return whole.scrollWidth <= width ? [] : [`${whole.scrollWidth - width} px`,
                    ...all.slice(0, 5).map((one) => one.outerHTML.slice(0, 120))];
            });
            return wide.length === 0;
        });
    }

    // Returns the serious and critical violations that axe-core finds, one sentence for each.
    async findings() {
        // The Content Security Policy does not apply to scripts from the debugger.
        if (await this.page.evaluate(() => window.axe === undefined))
            await this.page.evaluate(readFileSync(modules.resolve("axe-core/axe.min.js"), "utf8"));
        return this.page.evaluate(async () => {
            const { violations } = await window.axe.run(document, { resultTypes: ["violations"] });

            return violations.filter((one) => ["serious", "critical"].includes(one.impact)).flatMap((one) =>
                one.nodes.map((node) => `${one.id}: ${node.target.join(" ")}: ${node.failureSummary}`));
        });
    }

    async close() {
        await this.page.close();
    }
}

// A daemon and a browser, shared by all tests of a file.
export class Session {
    // Starts a daemon with `config` and `flags`, or uses the running daemon at `url`. `browser`: chromium or firefox.
    static async open({ config, flags, url, browser = "chromium" } = {}) {
        const session = new Session();

        session.daemon = url ? null : await Daemon.start({ config, flags });
        session.url = (url ?? session.daemon.url).replace(/\/$/, "");
        session.browser = await launch(browser);
        return session;
    }

    // Opens a view in a tab and calls `body` with the tab. Fails if the page has reported an error. `look`: see
    // View.look().
    async see(hash, body, look = {}) {
        const view = new View(this, await this.browser.newPage());

        try {
            await view.listen();
            await view.look(look);
            await view.go(hash, { fresh: true });
            const answer = await body(view);
            // Policy violations are reported as events: wait until the queued events have been delivered.
            await view.page.evaluate(() => new Promise((done) => setTimeout(done)));
            assert.deepEqual(view.complaints(), [], "the page reports no errors");
            return answer;
        } finally {
            await view.close();
        }
    }

    async close() {
        await this.browser?.close();
        await this.daemon?.stop();
    }
}
