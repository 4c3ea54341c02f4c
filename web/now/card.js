// SPDX-License-Identifier: Apache-2.0
// A card: the numbers of a PMU, the most useful first, the missing ones with the reason, and its CPUs.
import { element, plain, replace, write } from "../element.js";
import { percent, titleOf, whole } from "../numbers.js";
import { Cell, Detail, Tile } from "./tile.js";

// Its listener hears of the reader's own opening and closing only.
function disclosure(name, summary, open, onOpen, ...children) {
    const details = element("details", { class: name, open }, element("summary", {}, summary), children);

    details.addEventListener("toggle", () => {
        if (details.open !== details.shown)
            onOpen(details.shown = details.open);
    });
    details.shown = open;
    return details;
}

function absenceList(absences) {
    return element("ul", {}, absences.map(({ message, names }) =>
        element("li", {}, element("strong", {}, names.map(titleOf).join(", ")), `: ${plain(message)}`)));
}

function absenceTitle(absences) {
    const n = absences.flatMap((one) => one.names).length;

    return n === 1 ? "1 metric is not here, and why" : `${n} metrics are not here, and why`;
}

// `plan` is what it has, see plan.js. `state` is what the URL has: {more, closed: sets of ids, pmu, metric};
// `onState()` is called when the reader changes it.
export class Card {
    constructor(history, plan, state, onState) {
        Object.assign(this, { history, plan, state, onState, detail: null, madeOf: JSON.stringify(plan) });
        this.tiles = [...plan.first, ...plan.rest].map((kind) =>
            new Tile(history, `${plan.id} ${kind.name}`, kind, plan.where, (picked) => this.pick(picked)));
        this.place = element("div");
        this.cpus = plan.cpuKinds ? new Cpus(history, plan.id, plan.cpuKinds) : null;
        this.root = element("section", { class: "card", "data-pmu": plan.id, "aria-label": plan.title });
        this.build();
        this.follow();
    }

    build() {
        const { plan } = this, roots = this.tiles.map((tile) => tile.root), n = plan.first.length;

        this.more = roots.length > n
            ? this.disclose("more", `${roots.length - n} more`, element("div", { class: "tiles" }, roots.slice(n)))
            : null;
        this.table = this.cpus ? this.disclose("closed", "CPUs", this.cpus.root) : null;
        this.absent = plan.absences.length
            ? element("details", {}, element("summary", {}, absenceTitle(plan.absences)), absenceList(plan.absences))
            : null;
        replace(this.root, element("h3", {}, plan.title, " ", element("span", { class: "quiet" }, plan.where)),
                plan.note && element("p", {}, plan.note),
                element("div", { class: "tiles" }, roots.slice(0, n)), this.place, this.more, this.table, this.absent);
    }

    // The set `more` has the cards that are open, the set `closed` the others that were closed.
    disclose(set, summary, ...children) {
        const isListed = this.state[set].has(this.plan.id);

        return disclosure(set, summary, set === "more" ? isListed : !isListed, (open) => {
            this.state[set][(set === "more") === open ? "add" : "delete"](this.plan.id);
            this.onState();
        }, ...children);
    }

    pick(kind) {
        const same = this.state.pmu === this.plan.id && this.state.metric === kind.name;

        Object.assign(this.state, same ? { pmu: "", metric: "" } : { pmu: this.plan.id, metric: kind.name });
        this.onState();
    }

    // Shows what the state has.
    follow() {
        const name = this.state.pmu === this.plan.id ? this.state.metric : "";

        if (this.more)
            this.more.open = this.more.shown = this.state.more.has(this.plan.id);
        if (this.table)
            this.table.open = this.table.shown = !this.state.closed.has(this.plan.id);
        if ((this.detail?.kind.name ?? "") === name)
            return;
        this.detail?.close();
        this.detail = null;
        for (const tile of this.tiles) {
            tile.pick(tile.kind.name === name);
            if (tile.kind.name === name)
                this.detail = new Detail(this.history, `${this.plan.id} ${name}`, tile.kind, this.plan.where);
        }
        if (this.detail)
            this.place.append(this.detail.root);
    }

    // `values` has one of each kind, `cpus` what Cpus takes.
    take(values, cpus) {
        for (const tile of this.tiles)
            tile.take(values.get(tile.kind.name));
        this.cpus?.take(cpus);
        this.detail?.take();
    }

    close() {
        for (const part of [...this.tiles, this.cpus, this.detail])
            part?.close();
        this.root.remove();
    }
}

// --- The table of a PMU's CPUs: the numbers of the PMU, each with its line, for each CPU.

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
