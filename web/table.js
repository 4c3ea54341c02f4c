// SPDX-License-Identifier: Apache-2.0
// A sortable table that is updated in place: a row keeps its elements, so that focus, selection and scroll position
// stay. Only the first rows in the current order are in the document.
//
// A column is {key, title, help, number, text(row), value(row), classes(row), hint(row), heading}. text() is the
// content of a cell. value() is the sort key: a number, a string, or null, which sorts last in either order; it
// defaults to text(). classes() and hint(), the tooltip, are optional. The column with `heading` is the header of each
// row; the optional note(row) of this column is shown in grey after the text. Instead of text(), a column may have
// make(), which returns an object for a cell: {root, write(row)}, and close() if it must be freed. The table can be
// sorted by such a column only if the column has value(). A row has a unique `key`, a string.
//
// Rows may form a tree: then each row has a `depth` and `children`, and inOrder() sorts them.
import { element, replace, write } from "./element.js";
import { count } from "./numbers.js";

const collator = new Intl.Collator(undefined, { numeric: true });

export function isAbsent(value) {
    return value === null || value === undefined || value === "" || Number.isNaN(value);
}

function compare(a, b) {
    return typeof a === "number" && typeof b === "number" ? a - b : collator.compare(a, b);
}

// Returns the rows sorted by a column, "asc" or "desc". Rows without a value come last. The sort is stable.
export function sorted(rows, column, order) {
    const value = column.value ?? column.text;
    const known = [], unknown = [];
    const sign = order === "asc" ? 1 : -1;

    for (const row of rows) {
        const of = value(row);
        if (isAbsent(of))
            unknown.push(row);
        else
            known.push({ row, value: of });
    }
    known.sort((a, b) => sign * compare(a.value, b.value));
    return known.map((one) => one.row).concat(unknown);
}

// Returns the first `limit` rows and, even if it comes later, the row `key`.
export function shownOf(rows, limit, key) {
    const shown = rows.slice(0, limit);
    const other = key === null ? undefined : rows.slice(limit).find((row) => row.key === key);

    return other ? [...shown, other] : shown;
}

// Makes `nodes` the only children of a parent, in this order, without moving the node `still`.
export function arrange(parent, nodes, still) {
    const wanted = new Set(nodes);
    const middle = wanted.has(still) ? nodes.indexOf(still) : -1;

    for (const child of [...parent.children])
        if (!wanted.has(child))
            child.remove();
    for (let i = middle - 1; i >= 0; i--)
        if (nodes[i + 1].previousSibling !== nodes[i])
            parent.insertBefore(nodes[i], nodes[i + 1]);
    let next = middle < 0 ? parent.firstChild : still.nextSibling;
    for (const node of nodes.slice(middle + 1))
        if (node === next)
            next = next.nextSibling;
        else
            parent.insertBefore(node, next);
}

function has(selection, node) {
    return selection !== null && selection.containsNode(node, true);
}

export class Table {
    // `label` names the table. onSort(key, order) is called when the user sorts, onRow(row) when a row is opened or
    // selected; without onRow, rows are not buttons. `openable`: rows can be opened by open(). `limit` is the number of
    // rows shown at first. `empty` is the sentence for an empty table. For a tree: inOrder(rows, sort) returns the rows
    // in order, using sort(siblings); isFolded(row) returns whether a row is folded; onFold(row) is called when the
    // user folds or unfolds a row.
    constructor(container, { label, columns, sort, order, onSort, onRow, openable = false, limit = 100,
                             empty = "No rows.", inOrder = (rows, sort) => sort(rows), isFolded, onFold }) {
        Object.assign(this, { label, onSort, onRow, openable, limit, step: limit, sort, order });
        Object.assign(this, { inOrder, isFolded, onFold });
        this.rows = [];
        this.ordered = []; // rows in order, without descendants of folded rows
        this.shown = new Map(); // key → {tr, cells, row}
        this.opened = null; // {key, tr}
        this.head = element("tr");
        this.body = element("tbody", { onkeydown: (event) => this.key(event), onclick: (event) => this.click(event) });
        this.more = element("button", { type: "button", onclick: () => this.extend() }, "Show more");
        this.count = element("span", { class: "quiet" });
        this.empty = element("p", { class: "quiet" }, empty);
        const table = element("table", {}, element("caption", { class: "unseen" }, label),
                              element("thead", {}, this.head), this.body);
        this.scroll = element("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": label }, table);
        container.append(this.scroll, this.empty, element("p", { class: "more" }, this.more, " ", this.count));
        this.setColumns(columns);
    }

    // Changes the title of a column that has no sort button.
    retitle(key, title) {
        if (this.headings.has(key))
            write(this.headings.get(key), title);
    }

    // Replaces the columns. The focus stays in its row or on its header.
    setColumns(columns) {
        const at = document.activeElement, head = at?.closest?.("th[data-key]")?.dataset.key;
        const key = [...this.shown.values()].find((one) => one.tr.contains(at))?.row.key;
        const isHead = this.head.contains(at);

        this.columns = columns;
        this.headings = new Map(columns.map((column) => [column.key, this.heading(column)]));
        replace(this.head, [...this.headings.values()]);
        this.close();
        replace(this.body);
        this.shown.clear();
        this.opened?.tr.firstChild.setAttribute("colspan", columns.length);
        this.write();
        if (isHead)
            this.headings.get(head)?.querySelector("button")?.focus();
        else if (key !== undefined)
            this.shown.get(key)?.button?.focus();
    }

    // Frees the contents of the cells of some rows.
    close(rows = this.shown.values()) {
        for (const { cells } of rows)
            for (const { part } of cells)
                part?.close?.();
    }

    heading(column) {
        const sort = () => this.onHeading(column);

        const button = element("button", { type: "button", class: "sort", title: column.help, onclick: sort },
                               column.title);

        return element("th", { scope: "col", class: column.number ? "number" : null, "data-key": column.key },
                       column.text || column.value ? button
                           : column.title || element("span", { class: "unseen" }, "Links"));
    }

    // The first click on a column sorts in the usual direction: largest numbers first, names from A to Z.
    onHeading(column) {
        const first = column.number ? "desc" : "asc";
        const order = this.sort !== column.key ? first : this.order === "asc" ? "desc" : "asc";

        this.setSort(column.key, order);
        this.onSort?.(column.key, order);
    }

    setSort(key, order) {
        this.sort = key;
        this.order = order;
        this.write();
    }

    // Sets the sentence that is shown if there are no rows.
    setEmpty(sentence) {
        write(this.empty, sentence);
    }

    update(rows) {
        this.rows = rows;
        this.write();
    }

    extend() {
        const first = this.shown.size;

        this.limit += this.step;
        this.write();
        if (this.more.hidden)
            [...this.shown.values()][first]?.button?.focus();
    }

    // Shows an element below the row `key`, or removes the element if `key` is null.
    open(key, content = null) {
        const before = this.opened;

        this.opened = key === null ? null : { key, tr: element("tr", { class: "opened" },
            element("td", { colspan: this.columns.length }, content)) };
        before?.tr.remove();
        this.write();
    }

    // Updates the document from the current rows.
    write() {
        const selection = this.selection();
        const by = this.columns.find((column) => column.key === this.sort);
        this.ordered = this.inOrder(this.rows, (rows) => by ? sorted(rows, by, this.order) : rows);
        const shown = shownOf(this.ordered, this.limit, this.opened?.key ?? null);

        for (const [key, th] of this.headings) {
            if (!th.querySelector("button"))
                continue;
            const direction = key === this.sort ? (this.order === "asc" ? "ascending" : "descending") : "none";
            if (th.getAttribute("aria-sort") !== direction)
                th.setAttribute("aria-sort", direction);
        }
        const before = this.shown;
        this.shown = new Map();
        for (const row of shown)
            this.shown.set(row.key, this.writeRow(before.get(row.key) ?? this.makeRow(), row, selection));
        this.close([...before].filter(([key]) => !this.shown.has(key)).map(([, one]) => one));
        this.place(before, selection);
        this.writeEnd();
    }

    // Returns the user's text selection if it is in the table, otherwise null. While text is selected, rows do not
    // move.
    selection() {
        const selection = document.getSelection();

        return selection && !selection.isCollapsed && selection.containsNode(this.body, true) ? selection : null;
    }

    makeRow() {
        const shown = { tr: element("tr"), cells: [], button: null, fold: null, row: null };

        for (const column of this.columns) {
            const text = document.createTextNode(""), part = column.make?.() ?? null;
            const td = element(column.heading ? "th" : "td", { scope: column.heading ? "row" : null,
                                                               "data-key": column.key });
            if (column.heading && this.onRow)
                this.fillHeading(td, text, shown);
            else
                td.append(part?.root ?? text);
            shown.cells.push({ td, text, part, note: td.querySelector(".note"), classes: null, hint: "" });
            shown.tr.append(td);
        }
        return shown;
    }

    fillHeading(th, text, shown) {
        shown.button = element("button", { type: "button", class: "row", tabindex: -1 }, text);
        if (this.onFold)
            shown.fold = element("button", { type: "button", class: "fold", tabindex: -1,
                                             onclick: () => this.onFold(shown.row) });
        th.append(element("div", { class: "heading" }, shown.fold, element("span", {}, shown.button, " ",
            element("span", { class: "quiet note" }))));
    }

    writeRow(shown, row, selection) {
        shown.row = row;
        this.columns.forEach((column, i) => {
            const cell = shown.cells[i], text = column.text?.(row) ?? "", hint = column.hint?.(row) ?? "";
            const classes = `${column.number ? "number " : ""}${column.classes?.(row) ?? ""}`.trim();
            if (cell.text.data !== text && !has(selection, cell.td))
                cell.text.data = text;
            if (cell.note)
                write(cell.note, column.note?.(row) ?? "");
            cell.part?.write(row);
            if (cell.classes !== classes)
                cell.td.className = cell.classes = classes;
            if (cell.hint !== hint)
                cell.td.title = cell.hint = hint;
        });
        if (this.openable)
            shown.button.setAttribute("aria-expanded", String(this.opened?.key === row.key));
        if (shown.fold)
            this.writeFold(shown, row);
        return shown;
    }

    writeFold({ fold, button, cells }, row) {
        const isLeaf = row.children.length === 0;

        cells.find((cell) => cell.td.contains(fold)).td.style.setProperty("--depth", row.depth);
        fold.classList.toggle("leaf", isLeaf);
        fold.disabled = isLeaf;
        fold.setAttribute("aria-expanded", String(!isLeaf && !this.isFolded(row)));
        fold.setAttribute("aria-label", `Contents of ${button.textContent}`);
    }

    // Moves the rows into place. A row with the focus is not moved, since it would lose the focus. While text is
    // selected, no row is moved.
    place(before, selection) {
        const nodes = [];
        const focus = document.activeElement?.closest?.("tr") ?? null;
        const order = selection ? [...before.keys()].filter((key) => this.shown.has(key)) : [];
        const keys = new Set([...order, ...this.shown.keys()]);

        for (const key of keys) {
            nodes.push(this.shown.get(key).tr);
            if (this.opened?.key === key)
                nodes.push(this.opened.tr);
        }
        this.shown = new Map([...keys].map((key) => [key, this.shown.get(key)]));
        arrange(this.body, nodes, focus);
        this.rove();
    }

    // Tab reaches only one row; the arrow keys move between rows.
    rove(target = null) {
        const buttons = [...this.shown.values()].map((one) => one.button).filter(Boolean);
        const stop = target ?? buttons.find((one) => one === document.activeElement) ??
                     buttons.find((one) => one.tabIndex === 0) ?? buttons[0];

        for (const { tr, button } of this.shown.values())
            for (const one of tr.querySelectorAll("button, a"))
                if (one.tabIndex !== (button === stop ? 0 : -1))
                    one.tabIndex = button === stop ? 0 : -1;
    }

    writeEnd() {
        const n = this.ordered.length, text = `${count(this.shown.size)} of ${count(n)}`;

        this.more.hidden = this.shown.size >= n;
        this.more.parentNode.hidden = this.more.hidden;
        this.empty.hidden = n > 0;
        this.scroll.hidden = n === 0;
        write(this.count, text);
    }

    key(event) {
        const shown = [...this.shown.values()], buttons = shown.map((one) => one.button);
        const at = buttons.indexOf(event.target);
        const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: buttons.length - 1 }[event.key];

        if (at < 0 || event.ctrlKey || event.altKey || event.metaKey)
            return;
        if (this.onFold && /^Arrow(Left|Right)$/.test(event.key))
            this.foldBy(event, shown, at);
        if (to === undefined)
            return;
        event.preventDefault();
        if (buttons[to]) {
            this.rove(buttons[to]);
            buttons[to].focus();
        }
    }

    // The right arrow unfolds a row, the left arrow folds it. If there is nothing to fold, the left arrow moves to the
    // parent row.
    foldBy(event, shown, at) {
        const { row } = shown[at], isOpen = row.children.length > 0 && !this.isFolded(row);
        const parent = shown.findIndex((one) => one.row === row.parent);

        event.preventDefault();
        if (row.children.length > 0 && isOpen === (event.key === "ArrowLeft"))
            this.onFold(row);
        else if (event.key === "ArrowLeft" && parent >= 0) {
            this.rove(shown[parent].button);
            shown[parent].button.focus();
        }
    }

    click(event) {
        const button = event.target.closest("button.row");
        const shown = button && [...this.shown.values()].find((one) => one.button === button);

        if (shown) {
            this.rove(button);
            this.onRow(shown.row);
        }
    }
}
