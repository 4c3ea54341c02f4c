// SPDX-License-Identifier: Apache-2.0
// The table of a PMU's CPUs: the numbers of the PMU, each with its line, for each CPU.
import { element, plain, replace, write } from "../element.js";
import { percent } from "../numbers.js";
import { whole } from "../titles.js";
import { Cell } from "./tile.js";

const offline = { value: null, share: null, state: "unknown" };

function heading(text, help = null) {
    return element("th", { scope: "col", class: "number", title: help }, text);
}

class CpuRow {
    constructor(history, prefix, kinds, cpu) {
        this.cells = kinds.map((kind) => new Cell(history, `${prefix} ${cpu} ${kind.name}`, kind, cpu));
        this.name = element("th", { scope: "row" });
        this.counted = element("td", { class: "number" });
        this.root = element("tr", { "data-cpu": cpu }, this.name, this.cells.map((cell) => cell.root), this.counted);
    }

    // `cpu`: {cpu, online, values, share}
    take(cpu) {
        write(this.name, cpu.online ? `CPU ${cpu.cpu}` : `CPU ${cpu.cpu}, offline`);
        this.root.className = cpu.online ? "" : "offline";
        for (const [i, cell] of this.cells.entries())
            cell.take(cpu.online ? cpu.values[i] : offline);
        write(this.counted, percent(cpu.online ? cpu.share : null));
        this.counted.className = cpu.online && cpu.share !== null && cpu.share < whole ? "number warn" : "number";
    }

    close() {
        for (const cell of this.cells)
            cell.close();
        this.root.remove();
    }
}

export class Cpus {
    constructor(history, pmu, kinds) {
        Object.assign(this, { history, pmu, kinds, rows: new Map(), body: element("tbody") });
        this.root = element("div", { class: "scroll", tabindex: "0", role: "group",
                                     "aria-label": `CPUs of ${plain(pmu)}` },
            element("table", { class: "cpus" },
                element("thead", {}, element("tr", {}, element("th", { scope: "col" }, "CPU"),
                    kinds.map((kind) => heading(kind.title, kind.help)),
                    heading("Counted", "The share of the time that the group was counted which was counted least."))),
                this.body));
    }

    take(cpus) {
        const there = new Set(cpus.map((cpu) => cpu.cpu));

        for (const [number, row] of this.rows)
            if (!there.has(number)) {
                row.close();
                this.rows.delete(number);
            }
        if (cpus.some((cpu) => !this.rows.has(cpu.cpu)))
            this.add(cpus);
        for (const cpu of cpus)
            this.rows.get(cpu.cpu).take(cpu);
    }

    add(cpus) {
        for (const { cpu } of cpus)
            if (!this.rows.has(cpu))
                this.rows.set(cpu, new CpuRow(this.history, this.pmu, this.kinds, cpu));
        replace(this.body, cpus.map(({ cpu }) => this.rows.get(cpu).root));
    }

    close() {
        for (const row of this.rows.values())
            row.close();
    }
}
