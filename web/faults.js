// SPDX-License-Identifier: Apache-2.0
// The error line. Each source of errors, for example a Poll, has one message; equal messages are shown once. A message
// stays long enough to be read, and an intermittent error does not make the line flicker.
import { Poll } from "./poll.js";

const shownMs = 3000;

export class Faults {
    // `line` is the element of the error line; its child with the class "text" contains the messages. `load` is the
    // button that reloads the page.
    constructor(line, load) {
        this.line = line;
        this.load = load;
        this.entries = new Map(); // source → {sentence, action, since, timer}
    }

    // A sentence of null clears the error of the source. The action "load" shows the button that reloads the page.
    set(sentence, source, action) {
        const entry = this.entries.get(source);

        if (sentence !== null) {
            clearTimeout(entry?.timer);
            this.entries.set(source, { sentence, action, since: performance.now() });
        } else if (entry && !entry.timer) {
            entry.timer = setTimeout(() => this.remove(source), entry.since + shownMs - performance.now());
        }
        this.show();
    }

    remove(source) {
        clearTimeout(this.entries.get(source)?.timer);
        this.entries.delete(source);
        this.show();
    }

    show() {
        const entries = [...this.entries.values()];
        const text = [...new Set(entries.map((entry) => entry.sentence))].join(" ");
        const node = this.line.querySelector(".text");

        if (node.textContent !== text)
            node.textContent = text;
        this.load.hidden = !entries.some((entry) => entry.action === "load");
        this.line.hidden = text === "";
    }
}

// --- Detects that the daemon has been updated since the page was loaded. The page then offers to reload, but never
// reloads by itself. The status requested for this also contains the machine's name, which the page shows.

const oftenMs = 60000;

export class Edition {
    constructor(page) {
        this.page = page;
        this.version = null;
        this.at = -Infinity; // time of the last status request; -Infinity if that request failed
        this.poll = null;
    }

    // Requests the status once a minute, unless the current view does so.
    watch() {
        // Errors of this Poll are ignored, since the view's own requests fail in the same way and report them.
        this.poll = new Poll({ visibility: this.page.visibility, fault() {} }, oftenMs, async (signal) => {
            if (performance.now() - this.at > oftenMs / 2)
                await this.status(signal);
        });
    }

    // Returns the document of /api/v1/status. The views call this function, too.
    async status(signal) {
        this.at = performance.now();
        try {
            const status = await this.page.client.json("api/v1/status", { signal });
            this.compare(status);
            return status;
        } catch (error) {
            this.at = -Infinity;
            throw error;
        }
    }

    compare(status) {
        this.page.machine(status);
        this.version ??= status.version;
        this.page.fault(status.version === this.version ? null :
            `The daemon now has version ${status.version}, but this page has version ${this.version}.`, this, "load");
    }

    // Called when the daemon can be reached again.
    ask() {
        this.at = -Infinity;
        this.poll?.resume();
    }
}
