// SPDX-License-Identifier: Apache-2.0
// Facts about the daemon, its machine and its collectors.
import { element, plain, replace, write } from "../element.js";
import { History } from "../history.js";
import { Line } from "../lines.js";
import { absent, bytes, digits, percent } from "../numbers.js";
import { Poll } from "../poll.js";
import { absences, cpuShares } from "./findings.js";
import { yamlOf } from "./yaml.js";

const leastReadingS = 1e-5; // seconds; a shorter duration is shown as less than this
const when = (seconds) => new Date(seconds * 1000).toLocaleString();

function opener({ state, capabilities, filtered }) {
    const powers = capabilities.map((name) => name.replace(/^cap_/, "")).join(", ") || "none";
    const states = { none: "none: the daemon opens counters itself", lost: "has ended",
                     late: "does not answer", running: "runs" };
    const filter = filtered === false ? "; without a system-call filter" : "";

    return `${states[state] ?? state}; capabilities: ${powers}${filter}`;
}

function descriptors(one) {
    const most = one.counters + one.sampler;

    return `${one.open + one.sampling} of ${most} for counters and rings; the limit is ${one.limit}`;
}

// The label of each row, and how its value is derived from the status.
const rows = {
    "Version": (status) => status.version,
    "Running since": (status) => when(status.start_time),
    "Kernel": ({ machine }) => `${plain(machine.kernel)}, kernel.perf_event_paranoid ` +
        `${machine.perf_event_paranoid ?? absent}`,
    "CPUs": ({ machine }) => `${machine.cpus_online} online of ${machine.cpus_possible}`,
    "Opener": (status) => opener(status.opener),
    "Open files": (status) => descriptors(status.descriptors),
    "Configuration": (status) => status.config_file === null ? "built-in" : plain(status.config_file),
    "Read last": (status) => `${when(status.config_last_reload_success_time)}` +
        `${status.config_last_reload_successful ? "" : "; a later reload failed"}`,
};

function collector({ enabled, success, duration_seconds }) {
    if (!enabled)
        return "off";
    return `${success ? "works" : "fails"}, ${duration_seconds < leastReadingS ? `< ${digits(leastReadingS * 1000)}`
        : digits(duration_seconds * 1000)} ms a reading`;
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

// --- The cost of the daemon: CPU time and memory of each of its processes, and a chart of the total CPU time.

const interval = 5, gap = 20; // seconds
const roles = { daemon: "serves", opener: "opens counters", symboliser: "reads symbols for samples" };
const sum = (values) => values.reduce((all, one) => all + one, 0);

function row(name) {
    const cpu = element("td", { class: "number" }), memory = element("td", { class: "number" });
    const node = element("tr", {}, element("th", { scope: "row", title: roles[name] ?? null }, name), cpu, memory);

    return { node, cpu, memory };
}

export class Cost {
    constructor(page) {
        this.page = page;
        this.before = null; // {status, at}
        this.rows = new Map();
        this.body = element("tbody");
        if (!page.kept.has("cost"))
            page.kept.set("cost", new History({ interval, gap }));
        this.history = page.kept.get("cost");
        this.line = new Line(this.history, "cpu", { label: "CPU of all processes", text: percent });
        this.node = element("section", { class: "card cost", "aria-label": "Own cost" },
            element("h3", {}, "Own cost"), element("div", { class: "scroll", tabindex: 0, role: "region",
                "aria-label": "CPU and memory of each process" }, element("table", {}, element("thead", {},
                element("tr", {}, element("th", { scope: "col" }, "Process"),
                    element("th", { scope: "col", class: "number", title: "100 % is one CPU" }, "CPU"),
                    element("th", { scope: "col", class: "number" }, "Memory"))), this.body)),
            element("p", { class: "quiet line-title" }, "CPU of all processes, last 5 minutes"),
            this.line.element);
    }

    rowOf(key, name) {
        if (!this.rows.has(key))
            this.rows.set(key, row(name));
        return this.rows.get(key);
    }

    update(status) {
        const at = performance.now();
        const shares = this.before ? cpuShares(this.before.status, status, (at - this.before.at) / 1000) : {};
        const known = Object.values(shares);

        this.history.begin();
        if (known.length > 0)
            this.history.add("cpu", sum(known));
        this.line.update();

        const nodes = status.processes.map(({ process, pid, resident_bytes }) => this.write(
            this.rowOf(pid, process), shares[pid], resident_bytes));
        nodes.push(this.write(this.rowOf("all", "in all"), known.length > 0 ? sum(known) : undefined,
            sum(status.processes.map((one) => one.resident_bytes))));
        if (nodes.length !== this.body.children.length || nodes.some((one, i) => one !== this.body.children[i]))
            replace(this.body, ...nodes);
        this.before = { status, at };
    }

    close() {
        this.line.close();
    }

    write({ node, cpu, memory }, share, resident) {
        write(cpu, share === undefined ? absent : percent(share));
        write(memory, bytes(resident));
        return node;
    }
}

// --- Documents that are requested only while they are expanded: the metrics without a value, and the configuration.

const oftenMs = 60000;

function showMetrics(body, { metrics }) {
    const reasons = absences(metrics);
    const items = reasons.map(({ sentence, where, metrics: names }) => element("li", {},
        element("p", {}, element("b", {}, where), `: ${sentence}`),
        element("p", { class: "quiet" }, names.join(", "))));

    replace(body, items.length > 0 ? element("ul", {}, ...items) : element("p", {}, "Every metric has a value."));
}

function showConfig(body, document) {
    replace(body, element("pre", { class: "scroll", tabindex: 0, role: "region", "aria-label": "The configuration" },
        yamlOf(document)));
}

const disclosures = {
    metrics: { title: "Derived metrics without a value, and why", path: "api/v1/metrics", show: showMetrics },
    config: { title: "The active configuration", path: "api/v1/config", show: showConfig },
};

// The URL lists the expanded documents: "#health?open=metrics,config".
class Disclosure {
    constructor(page, { title, path, show }, changed) {
        this.page = page;
        this.path = path;
        this.show = show;
        this.poll = null;
        this.body = element("div");
        this.node = element("details", { class: "card", ontoggle: () => {
            this.follow();
            changed();
        } }, element("summary", {}, title), this.body);
    }

    follow() {
        if (this.node.open && !this.poll)
            this.poll = new Poll(this.page, oftenMs, async (signal) => {
                const document = await this.page.client.json(this.path, { signal });
                const text = JSON.stringify(document);
                if (text !== this.text)
                    this.show(this.body, document);
                this.text = text;
            });
        if (!this.node.open)
            this.close();
    }

    close() {
        this.poll?.close();
        this.poll = null;
    }
}

export class Documents {
    constructor(page) {
        this.page = page;
        this.all = Object.entries(disclosures).map(([name, one]) =>
            [name, new Disclosure(page, one, () => this.write())]);
        this.node = element("section", { "aria-label": "Documents" }, ...this.all.map(([, one]) => one.node));
        this.follow();
    }

    // Expands the documents that the URL lists and collapses the others.
    follow() {
        const open = (this.page.address.parameters.get("open") ?? "").split(",");

        for (const [name, one] of this.all)
            one.node.open = open.includes(name);
    }

    write() {
        this.page.address.write({ open: this.all.filter(([, one]) => one.node.open).map(([name]) => name).join(",") });
    }

    close() {
        for (const [, one] of this.all)
            one.close();
    }
}
