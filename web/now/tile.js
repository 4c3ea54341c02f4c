// SPDX-License-Identifier: Apache-2.0
// A number with its line: of a PMU, which has a name and the share of the time that it was counted, or of a CPU, in a
// cell of its table.
import { element, plain, write } from "../element.js";
import { Line } from "../lines.js";
import { absent, amount, metric, percent, titleOf, unitLabel } from "../numbers.js";

const starvedHelp = "no counter was free for it, so this is not zero. End what else counts, or count fewer events.";

// A kind of number: {name, title, help, text(value), max, starved}.
export function kindOfMetric(entry) {
    const label = unitLabel(entry.unit), isShare = entry.unit === "ratio" && !entry.name.startsWith("ipc");

    return { name: entry.name, title: titleOf(entry.name), help: entry.help, formula: entry.formula,
             groups: entry.groups, starved: entry.starved, max: isShare ? 1 : undefined,
             text: (value) => `${metric(value, entry.unit, entry.name)} ${label}`.trim() };
}

// Of an event, which is counted per second.
export function kindOfEvent(name) {
    return { name, title: plain(titleOf(name)), help: `${plain(name)} per second`, event: true,
             text: (value) => typeof value === "number" && value < 1e3 && value > 0 && value < 0.05
                 ? "< 0.1 /s" : amount(value, "/s") };
}

export const usageKind = { name: "used", title: "Utilisation", max: 1, usage: true, text: percent,
    help: "Share of the time in which the CPUs had something to run; waiting for I/O is not counted." };

function textOf(kind, one) {
    if (one.state === "starved")
        return "starved";
    return one.value === null ? absent : kind.text(one.value);
}

// Beside a number, always: how far it can be trusted.
function shareText(kind, one) {
    if (one.state === "starved")
        return `starved: ${kind.starved ?? starvedHelp}`;
    if (kind.usage)
        return one.value === null ? "not known" : "by the kernel's idle time";
    if (one.share === null)
        return "not known";
    return one.state === "estimate" ? `an estimate: counted ${percent(one.share)}` : `counted ${percent(one.share)}`;
}

// Writes a number into `node`.
function writeNumber(node, kind, one) {
    write(node, textOf(kind, one));
    node.className = one.state === "estimate" ? "value estimate" : one.state === "starved" ? "value warn" : "value";
}

// Of a PMU. `onPick(kind)` is called when its name is pressed.
export class Tile {
    constructor(history, key, kind, where, onPick) {
        this.kind = kind;
        this.number = element("div", { class: "value" });
        this.share = element("div", { class: "quiet share" });
        this.line = new Line(history, key, { label: `${kind.title}, ${where}`, text: kind.text, max: kind.max });
        this.button = element("button", { type: "button", title: kind.help, "aria-expanded": "false",
                                          onclick: () => onPick(kind) }, kind.title);
        this.root = element("div", { class: "tile", "data-name": kind.name },
                            this.button, this.number, this.line.element, this.share);
    }

    take(one) {
        writeNumber(this.number, this.kind, one);
        write(this.share, shareText(this.kind, one));
        this.line.update();
    }

    pick(picked) {
        this.button.setAttribute("aria-expanded", String(picked));
    }

    close() {
        this.line.close();
    }
}

// Of a CPU.
export class Cell {
    constructor(history, key, kind, cpu) {
        this.kind = kind;
        this.number = element("span", { class: "value" });
        this.line = new Line(history, key, { label: `${kind.title}, CPU ${cpu}`, text: kind.text, max: kind.max });
        this.root = element("td", { class: "number", "data-name": kind.name }, this.number, this.line.element);
    }

    take(one) {
        writeNumber(this.number, this.kind, one);
        this.line.update();
    }

    close() {
        this.line.close();
    }
}

// A large line with its axes, and what it shows.
export class Detail {
    constructor(history, key, kind, where) {
        const formula = kind.formula ? ` ${kind.formula}` : "";

        this.kind = kind;
        this.line = new Line(history, key, { label: `${kind.title}, ${where}`, text: kind.text, max: kind.max,
                                             axes: true });
        this.root = element("div", { class: "detail" }, element("h4", {}, `${kind.title}, ${where}`),
                            element("p", { class: "quiet" }, kind.help, formula && element("code", {}, formula)),
                            this.line.element);
    }

    take() {
        this.line.update();
    }

    close() {
        this.line.close();
        this.root.remove();
    }
}
