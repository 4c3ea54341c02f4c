// SPDX-License-Identifier: Apache-2.0
// The error line. Each source of errors, for example a Poll, has one message; equal messages are shown once. A message
// stays long enough to be read, and an error that comes and goes does not make the line flicker.
import { Poll } from "./poll.js";

const shownMs = 3000;

export class Faults {
    // `line` has a child with the class text. `load` is its button, which reloads the page.
    constructor(line, load) {
        this.line = line;
        this.load = load;
        this.entries = new Map(); // source: {sentence, action, since, timer}
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

// --- Detects that the daemon was updated since the page was loaded. The page then offers to reload, but never reloads
// by itself. The same answers contain the name of the machine.

const oftenMs = 60000;

export class Edition {
    constructor(page) {
        this.page = page;
        this.version = null;
        this.at = -Infinity; // time of the last status request; unset if it failed
        this.poll = null;
    }

    // Requests the status once a minute, unless the view does so.
    watch() {
        // The errors of this Poll are ignored: the view has the same ones and shows them.
        this.poll = new Poll({ visibility: this.page.visibility, fault() {} }, oftenMs, async (signal) => {
            if (performance.now() - this.at > oftenMs / 2)
                await this.status(signal);
        });
    }

    // Returns the document of /api/v1/status. Used by the views.
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
            `The daemon now has version ${status.version}, this page has version ${this.version}.`, this, "load");
    }

    // Called when the daemon can be reached again.
    ask() {
        this.at = -Infinity;
        this.poll?.resume();
    }
}
