// SPDX-License-Identifier: Apache-2.0
// The line that says what is wrong. Each source, as a Poll, has a sentence of its own, and those that are the same are
// shown once. A sentence stays long enough to be read, and a fault that comes and goes does not make the line flicker.
import { Poll } from "./poll.js";

const shownMs = 3000;

export class Faults {
    // `line` has a child .text; `load` is its button, which loads the page again.
    constructor(line, load) {
        this.line = line;
        this.load = load;
        this.entries = new Map(); // of source: {sentence, action, since, timer}
    }

    // Null: it is over. The action "load" offers to load the page again.
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

// --- Whether the daemon still is of the version that this page came with. After an update the page offers to be
// loaded again, and never does it by itself. The answers also say what the machine is called.

const oftenMs = 60000;

export class Edition {
    constructor(page) {
        this.page = page;
        this.version = null;
        this.at = -Infinity; // when the status was last asked for; not if that failed
        this.poll = null;
    }

    // Asks once a minute from now on, where no view does.
    watch() {
        // Its own faults are those of the view too, which shows them.
        this.poll = new Poll({ visibility: this.page.visibility, fault() {} }, oftenMs, async (signal) => {
            if (performance.now() - this.at > oftenMs / 2)
                await this.status(signal);
        });
    }

    // The document of /api/v1/status, for a view.
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
            `The daemon is of version ${status.version} now, and this page is of ${this.version}.`, this, "load");
    }

    // The daemon was away.
    ask() {
        this.at = -Infinity;
        this.poll?.resume();
    }
}
