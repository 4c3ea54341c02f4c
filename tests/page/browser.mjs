// SPDX-License-Identifier: Apache-2.0
// A browser with the page. An error in its console, an exception, a violation of the policy, or a request to another
// origin fails the test.
import assert from "node:assert/strict";
import { accessSync, constants, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { Daemon, eventually, scratch } from "./daemon.mjs";

export const root = join(dirname(fileURLToPath(import.meta.url)), "../..");
// install.sh puts the packages of package.json there.
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
                // not there
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

// A tab with a view of the page in it.
export class View {
    constructor(session, page) {
        this.session = session;
        this.page = page;
        this.requests = []; // {method, url, begin, end, status, failure}; times are those of performance.now()
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

    // What is left out stays as it is.
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

    // Goes to "#VIEW?STATE" as if typed, and waits for the view. `fresh` loads the page.
    async go(hash, { fresh = false } = {}) {
        const url = `${this.session.url}/${hash}`;

        if (fresh && this.page.url().startsWith(this.session.url))
            await this.page.goto("about:blank");
        await this.page.goto(url, { waitUntil: fresh ? "load" : undefined });
        const name = hash.replace(/^#/, "").split("?")[0] || views[0];

        await this.until(`the view ${name}`, (view) => document.getElementById("main")?.dataset.view === view, name);
    }

    // The test provokes complaints that match.
    expect(pattern) {
        this.expected.push(pattern);
    }

    complaints() {
        return this.faults.filter((fault) => !this.expected.some((pattern) => pattern.test(fault)));
    }

    // Waits until a function that runs in the page returns what is true, and returns that.
    async until(what, inside, ...parameters) {
        return eventually(() => this.awaited(what), () => this.inside(inside, ...parameters));
    }

    awaited(what) {
        return `${what}; complaints: ${this.complaints().join(" | ") || "none"}`;
    }

    // What a function that runs in the page returns; null while the page is being loaded.
    inside(inside, ...parameters) {
        return this.page.evaluate(inside, ...parameters).catch((error) => {
            if (/context|detached|navigat/i.test(error.message))
                return null;
            throw error;
        });
    }

    // Waits for an answer of the daemon to this page.
    answered() {
        return this.until("an answer of the daemon", () => performance.getEntriesByType("resource").some(({ name }) =>
            name.includes("/api/")));
    }

    // Presses the button with this text.
    press(text, within = "main") {
        return this.until(`a button ${text}`, (text, within) => {
            const button = [...document.querySelectorAll(`${within} button`)]
                .find((one) => one.offsetParent && one.textContent === text && !one.disabled);

            button?.click();
            return Boolean(button);
        }, text, within);
    }

    // Waits until each flame graph that is shown is drawn. Returns their frames, a list for each.
    frames() {
        return this.until("a flame graph that is drawn", () => {
            const graphs = [...document.querySelectorAll("main canvas")].filter((one) => one.offsetParent)
                .map((one) => one.flame).filter(Boolean);

            const drawn = (one) => !one.scheduled && !one.stale && one.frames().length > 1;

            return graphs.length > 0 && graphs.every(drawn) && graphs.map((one) => one.frames());
        });
    }

    // Waits until the view of profiles has this many samples.
    samples(least) {
        return this.until(`${least} samples`, (least) => Number(/([\d,]+) samples?/
            .exec(document.querySelector(".progress").innerText)?.[1].replace(/,/g, "")) >= least, least);
    }

    // Records, and waits for the end.
    async record() {
        await this.press("Record");
        await this.idle();
    }

    idle() {
        return this.until("the end of the recording", () =>
            document.querySelector("main button.main:enabled") !== null);
    }

    // Waits for a text that is seen: a string, or a regular expression.
    async sees(text, selector = "body") {
        let seen = "";

        return eventually(() => `${this.awaited(`text ${text} in ${selector}`)}; seen: ${seen.slice(0, 500)}`,
            async () => {
                seen = await this.inside((selector) => [...document.querySelectorAll(selector)]
                    .map((one) => one.innerText).join("\n"), selector) ?? "";
                return text instanceof RegExp ? text.test(seen) : seen.includes(text);
            });
    }

    // The text of an element that the reader sees.
    text(selector = "body") {
        return this.page.evaluate((selector) => document.querySelector(selector)?.innerText ?? null, selector);
    }

    // Opens a tab in front of this one, with `url`. Returns a function that brings this one back.
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

    // The requests to paths that match, which began after a time.
    asked(pattern, after = 0) {
        return this.requests.filter((one) => one.begin >= after && pattern.test(one.url));
    }

    async key(...names) {
        for (const name of names)
            await this.page.keyboard.press(name);
    }

    // The element with the focus.
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

    // axe-core's findings that are serious or critical, a sentence each.
    async findings() {
        if (await this.page.evaluate(() => window.axe === undefined)) // the debugger is not bound by the policy
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

// One daemon and one browser, for all tests of a file.
export class Session {
    // `config`, `flags`: for a daemon; `url`: of one that runs. `browser`: chromium or firefox.
    static async open({ config, flags, url, browser = "chromium" } = {}) {
        const session = new Session();

        session.daemon = url ? null : await Daemon.start({ config, flags });
        session.url = (url ?? session.daemon.url).replace(/\/$/, "");
        session.browser = await launch(browser);
        return session;
    }

    // Opens the view in a tab and runs `body` with it. Fails if the page complained. `look` is for View.look().
    async see(hash, body, look = {}) {
        const view = new View(this, await this.browser.newPage());

        try {
            await view.listen();
            await view.look(look);
            await view.go(hash, { fresh: true });
            const answer = await body(view);
            // Violations of the policy are events: those that are queued come before this turn.
            await view.page.evaluate(() => new Promise((done) => setTimeout(done)));
            assert.deepEqual(view.complaints(), [], "the page complains");
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
