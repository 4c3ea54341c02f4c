// SPDX-License-Identifier: Apache-2.0
// The part below a row that was opened: its path and names, how much of the time it was counted, and the lines of its
// values.
import { element, plain, replace, write } from "../element.js";
import { Line } from "../lines.js";
import { titleOf } from "../numbers.js";
import { kinds } from "./cgroups.js";
import { sharesOf } from "./columns.js";

// Of a value of a cgroup in a History.
export function nameOf(row, value) {
    return `${value} ${row.key}`;
}

// A value with its line.
class Value {
    constructor(row, column, history) {
        this.column = column;
        this.line = new Line(history, nameOf(row, column.key), {
            label: `${column.title} of ${row.title}`, text: (value) => column.write(value), axes: true,
        });
        this.number = element("span", { class: "value" });
        this.root = element("div", { class: "card" }, this.line.element);
        this.root.prepend(element("h3", { title: column.help }, column.title, " ", this.number));
    }

    take(row) {
        write(this.number, this.column.text(row));
        this.number.className = `value ${this.column.classes(row)}`.trim();
        this.number.title = this.column.hint(row);
        this.line.update();
    }
}

export class Opened {
    constructor(row, columns, history) {
        this.key = row.key;
        this.columns = columns;
        this.history = history;
        this.values = new Map();
        this.shares = element("dd");
        this.lines = element("div", { class: "lines" });
        this.root = element("div", { class: "details" });
        this.names = element("dl");
        replace(this.root, this.names, this.lines);
        this.take(row);
    }

    // Names may change.
    showNames({ entry }) {
        const known = ["cgroup", ...kinds.keys(), "named_by", "unnamed"].filter((key) => entry[key]);

        if (this.entry !== JSON.stringify(entry))
            replace(this.names, known.flatMap((key) => [element("dt", {}, titleOf(key)),
                                                        element("dd", {}, plain(entry[key]))]),
                    element("dt", {}, "Counted"), this.shares);
        this.entry = JSON.stringify(entry);
    }

    take(row) {
        this.showNames(row);
        write(this.shares, sharesOf(row).join("; "));
        for (const [key, column] of this.columns)
            if (row.values.has(key) && !this.values.has(key)) {
                this.values.set(key, new Value(row, column, this.history));
                this.lines.append(this.values.get(key).root);
            }
        for (const value of this.values.values())
            value.take(row);
    }

    close() {
        for (const value of this.values.values())
            value.line.close();
    }
}
