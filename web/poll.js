// SPDX-License-Identifier: Apache-2.0
// Asking again and again, but never while the page is hidden.
import { Fault } from "./client.js";

const first_delay_ms = 1000, longest_delay_ms = 15000;

// Whether somebody can see the page. Callbacks get true or false.
export class Visibility {
    constructor(document) {
        this.callbacks = new Set();
        this.document = document;
        document.addEventListener("visibilitychange", () => {
            for (const callback of [...this.callbacks])
                callback(this.visible);
        });
    }

    get visible() {
        return this.document.visibilityState === "visible";
    }

    // Returns a function that takes the callback away again.
    onChange(callback) {
        this.callbacks.add(callback);
        return () => this.callbacks.delete(callback);
    }
}

function rest(ms, signal) {
    return new Promise((resolve) => {
        const timer = setTimeout(resolve, ms);

        signal.addEventListener("abort", () => {
            clearTimeout(timer);
            resolve();
        }, { once: true });
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
        this.forget = page.visibility.onChange(() => this.resume());
        this.resume();
    }

    resume() {
        this.controller?.abort();
        this.controller = null;
        if (this.page.visibility.visible) {
            this.controller = new AbortController();
            this.run(this.controller.signal);
        }
    }

    async run(signal) {
        let delay = first_delay_ms;

        while (!signal.aborted) {
            const begin = performance.now();
            try {
                await this.ask(signal);
                if (signal.aborted)
                    return;
                this.page.fault(null);
                delay = first_delay_ms;
                await rest(this.ms - (performance.now() - begin), signal);
            } catch (error) {
                if (signal.aborted)
                    return;
                delay = await this.wait_after(error, delay, signal);
            }
        }
    }

    // Returns the next delay.
    async wait_after(error, delay, signal) {
        const ms = error.retry_after ? error.retry_after * 1000 : delay;

        if (!(error instanceof Fault))
            console.error(error);
        this.page.fault(`${error.message} The page asks again in ${Math.ceil(ms / 1000)} s.`);
        await rest(ms, signal);
        return Math.min(delay * 2, longest_delay_ms);
    }

    close() {
        this.forget();
        this.controller?.abort();
    }
}
