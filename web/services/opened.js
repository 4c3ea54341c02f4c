// SPDX-License-Identifier: Apache-2.0
// What is shown below a row that was opened: its whole name, how much of the time it was counted, and its lines.
import { element, plain, replace, write } from "../element.js";
import { shares_of } from "./columns.js";

export class Opened {
    constructor(row, columns) {
        this.key = row.key;
        this.shares = element("dd");
        this.root = element("div", { class: "details" });
        replace(this.root, element("dl", {}, this.names(row), element("dt", {}, "Counted"), this.shares));
        this.take(row);
    }

    names(row) {
        const named = [["Path", row.path], ["Unit", row.unit], ["Slice", row.slice], ["Container", row.container]];

        return named.filter(([, name]) => name !== "").flatMap(([title, name]) =>
            [element("dt", {}, title), element("dd", {}, plain(name))]);
    }

    take(row) {
        write(this.shares, shares_of(row).join("; "));
    }

    close() {}
}
