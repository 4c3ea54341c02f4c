// SPDX-License-Identifier: Apache-2.0
// Facts of the daemon and its machine, and its collectors.
import { element, plain, write } from "../element.js";
import { absent, digits, duration } from "../numbers.js";

const when = (seconds) => new Date(seconds * 1000).toLocaleString();

function opener({ state, capabilities, filtered }) {
    const powers = capabilities.map((name) => name.replace(/^cap_/, "")).join(", ") || "none";
    const states = { none: "there is none: the daemon opens counters itself", lost: "has ended",
                     late: "does not answer", running: "runs" };
    const filter = filtered === false ? "; without a system-call filter" : "";

    return `${states[state] ?? state}; capabilities: ${powers}${filter}`;
}

function descriptors(one) {
    const most = one.counters + one.sampler;

    return `${one.open + one.sampling} of ${most} for counters and rings; the limit is ${one.limit}`;
}

// Each row, from the status.
const rows = {
    "Version": (status) => status.version,
    "Running since": (status) => when(status.start_time),
    "Kernel": ({ machine }) => `${plain(machine.kernel)}, kernel.perf_event_paranoid ` +
        `${machine.perf_event_paranoid ?? absent}`,
    "CPUs": ({ machine }) => `${machine.cpus_online} online of ${machine.cpus_possible}`,
    "Opener": (status) => opener(status.opener),
    "Open files": (status) => descriptors(status.descriptors),
    "Configuration": (status) => status.config_file === null ? "the built-in one" : plain(status.config_file),
    "Read last": (status) => `${when(status.config_last_reload_success_time)}` +
        `${status.config_last_reload_successful ? "" : "; a reload after it failed"}`,
};

function collector({ enabled, success, duration_seconds }) {
    if (!enabled)
        return "off";
    return `${success ? "works" : "fails"}, ${digits(duration_seconds * 1000)} ms a reading`;
}

export class Facts {
    constructor() {
        this.values = new Map();
        this.list = element("dl");
        this.node = element("section", { class: "card facts", "aria-label": "Daemon and machine" },
            element("h3", {}, "Daemon and machine"), this.list);
    }

    write(name, text) {
        if (!this.values.has(name)) {
            this.values.set(name, element("dd"));
            this.list.append(element("div", {}, element("dt", {}, name), this.values.get(name)));
        }
        write(this.values.get(name), text);
    }

    update(status) {
        for (const [name, text] of Object.entries(rows))
            this.write(name, text(status));
        for (const one of status.collectors)
            this.write(`Collector ${plain(one.name)}`, collector(one));
    }
}
