// SPDX-License-Identifier: Apache-2.0
// Asking again and again, but never while the page is hidden. All times are of a clock that never jumps.
import { Fault } from "./client.js";

const firstDelayMs = 1000, longestDelayMs = 15000, announcedMs = 10000;

// Whether somebody can see the page: not in a hidden tab, and not while the browser keeps it for its Back button.
// Callbacks get true or false.
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

    // Returns a function that takes the callback away again.
    onChange(callback) {
        this.callbacks.add(callback);
        return () => this.callbacks.delete(callback);
    }
}

// Until `ms` have passed, or the signal is aborted.
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

// Calls `ask(signal)` whenever the one before has ended and `ms` have passed since it began, until close(). When the
// page is hidden, the request that runs is aborted. Faults are shown by `page`, and it goes on after a while.
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

    // Asks now, whatever it waits for.
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

    // Shows a fault, or that it is over.
    report(error, sentence = null, action = null) {
        const before = this.fault;

        this.fault = error;
        this.page.fault(sentence, this, action);
        if (before && !error)
            this.page.recovered?.(before);
    }

    // Says what went wrong, and returns how long to wait. A wrong password stays wrong until the page is loaded again.
    waitOf(error, delay) {
        if (!(error instanceof Fault)) {
            console.error(error);
            this.report(error, `This page has a fault of its own: ${error.message}. It goes on.`);
            return longestDelayMs;
        }
        const ms = error.retryAfter ? error.retryAfter * 1000 : delay;

        if (error.status === 401) {
            this.report(error, `${error.message} Load the page again to be asked for it.`, "load");
            return Infinity;
        }
        this.report(error, `${error.message} ${ms >= announcedMs && error.retryAfter ?
            `The page asks again in ${Math.ceil(ms / 1000)} s.` : "The page goes on asking."}`);
        return ms;
    }

    close() {
        this.forget();
        globalThis.removeEventListener?.("online", this.online);
        this.controller?.abort();
        this.page.fault(null, this);
    }
}
