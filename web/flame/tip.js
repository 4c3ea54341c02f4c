// SPDX-License-Identifier: Apache-2.0
// Describes a frame in a tooltip, and in a sentence for screen readers. Names are inserted as text.
import { element, plain, replace } from "../element.js";
import { amount, percent, waited } from "../numbers.js";
import { change, points } from "./painter.js";
import { isSure } from "./tree.js";

const mostCharacters = 500;
const kinds = { user: "user", kernel: "kernel", process: "process", state: "state" };

export function nameOf(node) {
    const name = plain(node.name);

    return name.length > mostCharacters ? `${name.slice(0, mostCharacters)}…` : name;
}

function shares(node, root, zoomed) {
    const all = `${percent(node.total / root.total)} of all`;

    return zoomed.parent ? `${all}, ${percent(node.total / zoomed.total)} of ${nameOf(zoomed)}` : all;
}

// Returns the lines of the tooltip. `describe` returns the weight of a node in words.
function lines(node, { root, zoomed, describe, difference }) {
    const where = [kinds[node.kind], node.module && plain(node.module).slice(0, mostCharacters)].filter(Boolean);
    const said = [nameOf(node), where.join(", "), `${describe(node)}, ${shares(node, root, zoomed)}`];

    if (node.self > 0 && node.self < node.total)
        said.push(`${percent(node.self / root.total)} self`);
    if (difference)
        said.push(`before ${percent(node.before ?? 0)}, after ${percent(node.after ?? 0)}: ${points(change(node))} ` +
            `± ${percent(2 * node.error)}${isSure(change(node), node.error) ? "" : ", which may be chance"}`);
    return said.filter(Boolean);
}

// Returns the lines of the tooltip as one sentence, followed by the depth of the frame and the number of its children.
export function sentence(node, row, state) {
    const children = node.children?.size ?? 0;

    return `${lines(node, state).join(", ")}, depth ${row}, ${children === 1 ? "1 child" : `${children} children`}`;
}

export function weight(node, isTime = false) {
    return isTime ? waited(node.total) : `${amount(node.total)} ${node.total === 1 ? "sample" : "samples"}`;
}

export class Tip {
    constructor(container) {
        this.container = container;
        this.box = element("div", { class: "flame-tip", "aria-hidden": "true", hidden: true });
        container.append(this.box);
    }

    hide() {
        this.box.hidden = true;
    }

    write(node, state) {
        replace(this.box, ...lines(node, state).map((line) => element("p", {}, line)));
    }

    // Shows the tooltip at a position, moved so that it stays within the container.
    show(x, y) {
        const { box, container } = this;

        box.hidden = false;
        box.style.left = `${Math.max(0, Math.min(x + 12, container.clientWidth - box.offsetWidth))}px`;
        box.style.top = `${y + 20}px`;
    }
}

// --- The legend: explains the colours of a flame graph.

function entry(kind, text) {
    return element("span", {}, element("i", { class: `flame-${kind}` }), text);
}

// `change` is the largest difference, or 0 if the colours show the kinds of frames. `searches` is true if a search
// highlights frames.
export function legend(box, change, searches) {
    const entries = change
        ? [entry("less", `${points(-change)}: less than before`), entry("more", `${points(change)}: more than before`),
           entry("neutral", "may be chance: below two standard deviations of the samples")]
        : [entry("user", "user"), entry("kernel", "kernel (underlined)"), entry("neutral", "process")];

    if (searches && !change)
        entries.push(entry("match", "found"));
    replace(box, ...entries);
}
