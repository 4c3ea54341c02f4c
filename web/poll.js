// SPDX-License-Identifier: Apache-2.0
// Repeats a request, but never while the page is hidden. All times come from the monotonic clock.
import { Fault } from "./client.js";

const firstDelayMs = 1000, longestDelayMs = 15000, announcedMs = 10000;

// Tells whether the page is visible. The page is not visible in a background tab, nor while the browser keeps it for
// the Back button. Callbacks are called with true or false.
export class Visibility {
    constructor(document, window = document.defaultView) {
        this.callbacks = new Set();
        this.document = document;
        this.left = false;
        this.visible = this.isVisible();
        document.addEventListener("visibilitychange", () => this.update());
        window?.addEventListener("pagehide", () => this.update(true));
        window?.addEventListener("pageshow", () => this.update(false));
    }

    isVisible() {
        return !this.left && this.document.visibilityState === "visible";
    }

    update(left = this.left) {
        this.left = left;
        if (this.visible === this.isVisible())
            return;
        this.visible = !this.visible;
        for (const callback of [...this.callbacks])
            callback(this.visible);
    }

    // Adds a callback and returns a function that removes the callback.
    onChange(callback) {
        this.callbacks.add(callback);
        return () => this.callbacks.delete(callback);
    }
}

// Resolves after `ms`, or when the signal is aborted.
function rest(ms, signal) {
    return new Promise((resolve) => {
        const end = () => {
            clearTimeout(timer);
            signal.removeEventListener("abort", end);
            resolve();
        };
        const timer = Number.isFinite(ms) ? setTimeout(end, ms) : undefined;

        signal.addEventListener("abort", end);
        if (signal.aborted)
            end();
    });
}

// Calls `ask(signal)` repeatedly until close(): each call starts when the previous call has ended and `ms` have passed
// since the previous call began. When the page becomes hidden, the running request is aborted. Errors of the request
// are shown by `page`, and polling continues after a delay.
export class Poll {
    constructor(page, ms, ask) {
        this.page = page;
        this.ms = ms;
        this.ask = ask;
        this.controller = null;
        this.fault = null;
        this.forget = page.visibility.onChange(() => this.resume());
        this.online = () => this.fault && this.resume();
        globalThis.addEventListener?.("online", this.online);
        this.resume();
    }

    // Calls `ask` now, without waiting.
    resume() {
        this.controller?.abort();
        this.controller = null;
        if (this.page.visibility.visible) {
            this.controller = new AbortController();
            this.run(this.controller.signal);
        }
    }

    async run(signal) {
        let delay = firstDelayMs;

        while (!signal.aborted) {
            const begin = performance.now();
            try {
                await this.ask(signal);
                if (signal.aborted)
                    return;
                this.report(null);
                delay = firstDelayMs;
                await rest(this.ms - (performance.now() - begin), signal);
            } catch (error) {
                if (signal.aborted)
                    return;
                await rest(this.waitOf(error, delay), signal);
                delay = Math.min(delay * 2, longestDelayMs);
            }
        }
    }

    // Shows the error as `sentence`, or clears the last error if `sentence` is null.
    report(error, sentence = null, action = null) {
        const before = this.fault;

        this.fault = error;
        this.page.fault(sentence, this, action);
        if (before && !error)
            this.page.recovered?.(before);
    }

    // Reports an error and returns the delay before the next attempt. After a wrong password the delay is infinite,
    // because the browser asks for another password only when the page is reloaded.
    waitOf(error, delay) {
        if (!(error instanceof Fault)) {
            console.error(error);
            this.report(error, `This page has a bug: ${error.message}. It keeps running.`);
            return longestDelayMs;
        }
        const ms = error.retryAfter ? error.retryAfter * 1000 : delay;

        if (error.status === 401) {
            this.report(error, `${error.message} Load the page again to enter it.`, "load");
            return Infinity;
        }
        this.report(error, `${error.message} ${ms >= announcedMs && error.retryAfter ?
            `The page asks again in ${Math.ceil(ms / 1000)} s.` : "The page keeps trying."}`);
        return ms;
    }

    close() {
        this.forget();
        globalThis.removeEventListener?.("online", this.online);
        this.controller?.abort();
        this.page.fault(null, this);
    }
}
