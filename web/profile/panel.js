// SPDX-License-Identifier: Apache-2.0
// A flame graph with its surroundings: what was recorded, the path to the zoomed frame, and the result of a search.
import { element, plain, replace, write } from "../element.js";
import { absent, percent, waited } from "../numbers.js";
import { Table } from "../table.js";
import { FlameGraph } from "../flame/graph.js";
import { search } from "../flame/search.js";
import { weight } from "../flame/tip.js";
import { deviation, hottest, isSure, keyOf } from "../flame/tree.js";

const endsShown = 4; // frames shown at each end of a long path

function heaviest(nodes) {
    return nodes.reduce((best, node) => (!best || node.total > best.total ? node : best), null);
}

// Follows a path of names in a tree, and returns the nodes that exist.
export function walk(tree, path) {
    const nodes = [];
    let node = tree.root;

    for (const name of path) {
        node = heaviest([...node.children?.values() ?? []].filter((child) => child.name === name));
        if (!node)
            break;
        nodes.push(node);
    }
    return nodes;
}

export class Panel {
    // onZoom(path) is called when the user zooms.
    constructor(title, onZoom) {
        this.title = element("h3", {}, title);
        this.about = element("p", { class: "quiet" });
        this.matched = element("p", { class: "matched" });
        this.crumbs = element("ol", { class: "crumbs" });
        this.box = element("div", { class: "graph" });
        this.root = element("section", { class: "card panel", "aria-label": title }, this.title, this.about,
                            element("nav", { "aria-label": `Path to the zoomed frame, ${title}` }, this.crumbs),
                            this.matched, this.box);
        this.path = [];
        this.onZoom = onZoom;
        this.graph = null; // created when there is data to show
    }

    makeGraph() {
        this.graph = new FlameGraph(this.box, { onZoom: (path) => this.zoomed(path),
                                                describe: (node) => weight(node, this.tree.isTime) });
        this.graph.zoomTo(this.path);
    }

    // `about` is a line of text about the recording. Options: {shape, search, difference: bool}.
    show(about, tree, { shape, search: text, difference }) {
        this.tree = tree;
        write(this.about, about);
        if (!this.graph)
            this.makeGraph();
        if (this.shape !== shape)
            this.graph.setShape(shape);
        this.shape = shape;
        this.graph.setDifference(difference);
        this.graph.setTree(tree);
        this.find(text);
        this.writePath();
    }

    // If the text is not a valid pattern, the error is shown instead of the share.
    find(text) {
        const found = text ? search(this.tree, text) : null;

        this.graph.setSearch(found && !found.error ? found.matches : null);
        write(this.matched, !found ? "" : found.error ?? `“${plain(text)}” matches ${percent(found.share)}.`);
    }

    // Zooms to the part of the path that exists in the tree, and further as the tree grows.
    zoomTo(path) {
        if (path.join("\n") === this.path.join("\n"))
            return;
        this.path = [...path];
        this.graph?.zoomTo(this.path);
        this.writePath();
    }

    zoomed(path) {
        this.path = [...path];
        this.writePath();
        this.onZoom(this.path);
    }

    writePath() {
        const nodes = this.tree ? walk(this.tree, this.path) : [];
        const names = nodes.map(({ name, total }) => `${plain(name)} ${this.share(total)}`);
        const key = names.join("\n");

        if (key === this.written)
            return;
        this.written = key;
        const hidden = (i) => i >= 1 && i < nodes.length - endsShown;
        const items = names.map((name, i) => (hidden(i) ? null : this.crumb(name, i + 1)));
        if (nodes.length > endsShown + 1)
            items[1] = element("li", {}, "…");
        replace(this.crumbs, this.crumb("all", 0), ...items);
    }

    crumb(name, length) {
        const last = length === this.path.length;
        const go = () => {
            this.zoomTo(this.path.slice(0, length));
            this.onZoom(this.path);
        };

        const properties = { type: "button", "aria-current": last ? "true" : null, onclick: go };

        return element("li", {}, element("button", properties, name));
    }

    share(weight) {
        return percent(this.tree.total ? weight / this.tree.total : 0);
    }

    close() {
        this.graph?.close();
    }
}

// --- The table of the functions with the most samples; in a comparison, with the change since recording A.

function points({ change, error }) {
    const hundredths = (share) => (share * 100).toLocaleString(undefined, { maximumFractionDigits: 1 });

    return change === null ? absent
        : `${change > 0 ? "+" : ""}${hundredths(change)} ± ${hundredths(2 * error)} points`;
}

// `row.times`: nanoseconds of off-CPU time, by column.
function shareColumn(key, title, help) {
    const text = (row) => `${row.times ? `${waited(row.times[key] * row[key])}, ` : ""}${percent(row[key])}`;

    return { key, title, help, number: true, text, value: (row) => row[key] };
}

const columns = [
    { key: "name", title: "Function", heading: true, text: (row) => plain(row.name) },
    shareColumn("self", "Self", "Samples taken in the function itself; for waits, also in the kernel"),
    shareColumn("total", "Total", "Samples taken in the function or in what it called"),
    { key: "kind", title: "Kind", text: (row) => row.kind },
    { key: "module", title: "Module", text: (row) => plain(row.module) },
];
const compared = [
    columns[0],
    shareColumn("before", "Self in A", "Samples of A taken in the function itself"),
    shareColumn("self", "Self in B", "Samples of B taken in the function itself"),
    { key: "change", title: "Change", number: true, text: points,
      help: "The number after ± is two standard deviations. Changes smaller than that may be chance and are grey",
      classes: (row) => isSure(row.change, row.error) ? "" : "quiet",
      value: (row) => isSure(row.change, row.error) ? Math.abs(row.change) : 0 },
    ...columns.slice(2),
];

function shares(tree) {
    const all = tree.total || 1;

    return new Map(hottest(tree).map((one) => [keyOf(one), {
        key: keyOf(one), name: one.name, module: one.module ?? "", kind: one.kind, self: one.self / all,
        total: one.total / all, variance: one.variance, before: null, change: null,
    }]));
}

// Returns the rows of the table. `before` is the tree of recording A, or null.
export function rows(tree, before) {
    const found = shares(tree), old = before ? shares(before) : new Map();

    for (const [key, row] of old)
        if (!found.has(key))
            found.set(key, { ...row, self: 0, total: 0, variance: 0 });
    if (before)
        for (const [key, row] of found) {
            const was = old.get(key) ?? { self: 0, variance: 0 };
            row.before = was.self;
            row.change = row.self - row.before;
            row.error = deviation(was.variance, before.total, row.variance, tree.total);
        }
    if (tree.isTime)
        for (const row of found.values())
            row.times = { self: tree.total, total: tree.total, before: before?.total };
    return [...found.values()];
}

export class Hottest {
    // onChoose(name) is called when the user selects a row.
    constructor(onChoose) {
        this.title = element("h3");
        this.root = element("section", { class: "card", "aria-label": "Hottest functions" }, this.title);
        this.table = new Table(this.root, {
            label: "Hottest functions", columns, sort: "self", order: "desc", limit: 25, empty: "No sample yet.",
            onRow: (row) => onChoose(row.name),
        });
        this.compares = false;
    }

    show(tree, before) {
        write(this.title, tree.isTime ? "Functions that waited longest" : "Hottest functions");
        if (this.compares !== Boolean(before)) {
            this.compares = Boolean(before);
            this.table.setColumns(this.compares ? compared : columns);
            this.table.setSort(this.compares ? "change" : "self", "desc");
        }
        this.table.update(rows(tree, before));
    }
}
