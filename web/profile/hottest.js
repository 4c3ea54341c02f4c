// SPDX-License-Identifier: Apache-2.0
// The table of the functions that have the most samples; with A, how much they had there.
import { element, plain } from "../element.js";
import { hottest } from "../flame/hottest.js";
import { keyOf } from "../flame/tree.js";
import { absent, percent } from "../numbers.js";
import { Table } from "../table.js";

function points(change) {
    if (change === null)
        return absent;
    return `${change > 0 ? "+" : ""}${(change * 100).toLocaleString(undefined, { maximumFractionDigits: 1 })} points`;
}

function share_column(key, title, help) {
    return { key, title, help, number: true, text: (row) => percent(row[key]), value: (row) => row[key] };
}

const columns = [
    { key: "name", title: "Function", heading: true, text: (row) => plain(row.name) },
    share_column("self", "Self", "Samples that were taken in the function itself"),
    share_column("total", "Total", "Samples that were taken in the function or in what it called"),
    { key: "kind", title: "Kind", text: (row) => row.kind },
    { key: "module", title: "Module", text: (row) => plain(row.module) },
];
const compared = [
    columns[0],
    share_column("before", "Self in A", "Samples of A that were taken in the function itself"),
    share_column("self", "Self in B", "Samples of B that were taken in the function itself"),
    { key: "change", title: "Change", number: true, text: (row) => points(row.change),
      value: (row) => Math.abs(row.change) },
    ...columns.slice(2),
];

function shares(tree) {
    const all = tree.total || 1;

    return new Map(hottest(tree).filter(({ kind }) => kind !== "process").map((one) => [keyOf(one), {
        key: keyOf(one), name: one.name, module: one.module ?? "", kind: one.kind, self: one.self / all,
        total: one.total / all, before: null, change: null,
    }]));
}

// The rows of the table; `before` may be null.
export function rows(tree, before) {
    const found = shares(tree), old = before ? shares(before) : new Map();

    for (const [key, row] of old)
        if (!found.has(key))
            found.set(key, { ...row, self: 0, total: 0 });
    if (before)
        for (const [key, row] of found) {
            row.before = old.get(key)?.self ?? 0;
            row.change = row.self - row.before;
        }
    return [...found.values()];
}

export class Hottest {
    // onChoose(name): a row was chosen.
    constructor(onChoose) {
        this.root = element("section", { class: "card", "aria-label": "Hottest functions" },
                            element("h3", {}, "Hottest functions"));
        this.table = new Table(this.root, {
            label: "Hottest functions", columns, sort: "self", order: "desc", limit: 25, empty: "No sample yet.",
            onRow: (row) => onChoose(row.name),
        });
        this.compares = false;
    }

    show(tree, before) {
        if (this.compares !== Boolean(before)) {
            this.compares = Boolean(before);
            this.table.setColumns(this.compares ? compared : columns);
            this.table.setSort(this.compares ? "change" : "self", "desc");
        }
        this.table.update(rows(tree, before));
    }
}
