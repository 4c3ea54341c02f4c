// SPDX-License-Identifier: Apache-2.0
// Whether the daemon still is of the version that this page came with. After an update the page offers to be loaded
// again, and never does it by itself. The answers also say what the machine is called.
import { Poll } from "./poll.js";

const often_ms = 60000;

export class Edition {
    constructor(page) {
        this.page = page;
        this.version = null;
        // Its own faults are those of the view too, which shows them.
        this.poll = new Poll({ visibility: page.visibility, fault() {} }, often_ms, async (signal) => {
            this.compare(await page.client.json("api/v1/status", { signal }));
        });
    }

    compare(status) {
        this.page.machine(status.machine.hostname);
        this.version ??= status.version;
        this.page.fault(status.version === this.version ? null :
            `The daemon is of version ${status.version} now, and this page is of ${this.version}.`, this, "load");
    }

    // The daemon was away.
    ask() {
        this.poll.resume();
    }
}
