// SPDX-License-Identifier: Apache-2.0
// The cost of the daemon itself: the CPU time and the memory of each of its processes, and a line of all CPU time.
import { element, replace, write } from "../element.js";
import { History } from "../history.js";
import { Line } from "../lines.js";
import { absent, bytes, percent } from "../numbers.js";
import { cpuShares } from "./findings.js";

const interval = 5, gap = 20; // seconds
const roles = { daemon: "serves", opener: "opens counters", symboliser: "reads programs for samples" };
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
                    element("th", { scope: "col", class: "number" }, "Memory"))), this.body)), this.line.element);
    }

    row_of(key, name) {
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
            this.row_of(pid, process), shares[pid], resident_bytes));
        nodes.push(this.write(this.row_of("all", "in all"), known.length > 0 ? sum(known) : undefined,
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
