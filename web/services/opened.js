// SPDX-License-Identifier: Apache-2.0
// The details below an opened row: the cgroup's path and names, the share of time that it was counted, and its values
// with sparklines.
import { element, plain, replace, write } from "../element.js";
import { titleOf } from "../numbers.js";
import { kinds } from "./cgroups.js";
import { ValueLine, sharesOf } from "./columns.js";

// A value with its sparkline.
class Value {
    constructor(row, column) {
        this.column = column;
        this.line = new ValueLine(column);
        this.number = element("div", { class: "value" });
        this.root = element("div", { class: "tile" }, this.number, this.line.root);
        this.root.prepend(element("div", { class: "quiet", title: column.help }, column.title));
    }

    take(row, line, span) {
        write(this.number, this.column.text(row));
        this.number.className = `value ${this.column.classes(row)}`.trim();
        this.number.title = this.column.hint(row);
        this.line.take(row, line, span);
    }
}

export class Opened {
    // lineOf(row, name) returns the points of a value, spanOf() the seconds that they cover.
    constructor(row, columns, lineOf, spanOf) {
        Object.assign(this, { key: row.key, columns, lineOf, spanOf, values: new Map() });
        this.shares = element("dd");
        this.names = element("dl");
        this.tiles = element("div", { class: "tiles" });
        this.root = element("div", { class: "details" }, this.tiles, this.names);
        this.take(row);
    }

    // Updates the names, because they may change.
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
                this.values.set(key, new Value(row, column));
                this.tiles.append(this.values.get(key).root);
            }
        for (const [key, value] of this.values)
            value.take(row, this.lineOf(row, key), this.spanOf());
    }

    close() {
        for (const { line } of this.values.values())
            line.close();
    }
}
