// SPDX-License-Identifier: Apache-2.0
// The view of cgroups: services, slices and containers as a table.
//
// Each answer has all cgroups: the daemon spends its time on reading them, not on writing, and so the table is sorted
// and filtered as one types, without another request.
import { element, plain, replace, write } from "../element.js";
import { History } from "../history.js";
import { count } from "../numbers.js";
import { sentence } from "../health/findings.js";
import { Poll } from "../poll.js";
import { Table } from "../table.js";
import { Cgroups, filterOf } from "./cgroups.js";
import { columnsOf, usual } from "./columns.js";
import { Opened, nameOf } from "./opened.js";

const seconds = 2, firstSeconds = 0.5, listingMs = 30000, listedMax = 200;

class Services {
    constructor(root, page) {
        this.page = page;
        this.cgroups = new Cgroups();
        this.answer = null;
        this.rows = [];
        this.names = new Set(); // of what rows have had
        this.columns = new Map();
        this.listed = -Infinity;
        this.opened = null;
        page.kept.set("services", page.kept.get("services") ?? new History());
        this.history = page.kept.get("services");
        this.take(page.address.parameters);
        this.build(root);
        this.poll = new Poll(page, 0, (signal) => this.ask(signal));
        this.observer = new ResizeObserver(() => this.showColumns());
        this.observer.observe(root);
    }

    // The state that the URL has.
    take(parameters) {
        this.sort = parameters.get("sort") ?? "";
        this.order = parameters.get("order") === "asc" ? "asc" : "desc";
        this.filter = parameters.get("filter") ?? "";
        this.chosen = parameters.get("columns")?.split(",") ?? null;
        this.openKey = parameters.get("open");
    }

    save() {
        this.page.address.write({ sort: this.sort, order: this.sort && this.order, filter: this.filter,
                                  columns: this.chosen?.join(",") || null, open: this.openKey });
    }

    build(root) {
        this.input = element("input", { type: "search", value: this.filter, autocomplete: "off", spellcheck: "false",
                                        size: 28, placeholder: "ssh, *.service, image=db:*",
                                        oninput: () => this.onFilter() });
        this.choice = element("fieldset", {}, element("legend", {}, "Columns"));
        this.note = element("p", { class: "quiet" });
        this.droppedTitle = element("summary");
        this.droppedBody = element("div");
        this.dropped = element("details", { hidden: true }, this.droppedTitle, this.droppedBody);
        replace(root, element("h2", {}, "Services"),
                element("div", { class: "controls" },
                        element("label", {}, "Filter: a part of a name, or a pattern", this.input),
                        element("details", { class: "columns" }, element("summary", {}, "Columns"), this.choice)),
                this.note);
        this.table = new Table(root, {
            label: "Cgroups, per second", columns: [], sort: this.sort, order: this.order, openable: true,
            empty: "Waiting for the first answer.", onSort: (key, order) => this.onSort(key, order),
            onRow: (row) => this.onRow(row),
        });
        root.append(this.dropped);
    }

    async ask(signal) {
        // The rows of each PMU are not used: the limit leaves them out, but for one.
        const options = { signal, parameters: { collector: "cgroup", seconds: this.answer ? seconds : firstSeconds,
                                                totals: "cgroup", limit: 1 } };

        if (!this.answer)
            this.cgroups.learnMetrics(await this.page.client.json("api/v1/metrics", { signal }));
        if (performance.now() - this.listed > listingMs)
            await this.list(signal);
        this.takeAnswer(await this.page.client.json("api/v1/rates", options));
        if (this.rows.length === 0)
            await this.explain(signal);
    }

    async list(signal) {
        this.cgroups.learn(await this.page.client.json("api/v1/cgroups", { signal }));
        this.listed = performance.now();
        if (this.answer)
            this.showDropped();
    }

    takeAnswer(answer) {
        const { rows, news } = this.cgroups.rows(answer);
        const before = this.names.size, first = !this.answer;

        if (news)
            this.listed = -Infinity;
        for (const row of rows)
            for (const name of [...row.values.keys(), ...row.names.keys()])
                this.names.add(name);
        this.rows = rows;
        this.keep();
        if (first || this.names.size !== before)
            this.learnColumns();
        this.answer = answer;
        this.show();
        if (first)
            this.showDropped();
    }

    // Keeps the values of all cgroups: whichever row is opened then has its lines.
    keep() {
        this.history.begin();
        for (const row of this.rows)
            for (const [name, one] of row.values)
                this.history.add(nameOf(row, name), one.value);
    }

    learnColumns() {
        this.columns = columnsOf(this.cgroups.formulas, this.names);
        if (!this.columns.has(this.sort)) {
            this.usualSort = ["cpu_utilization", ...usual(this.columns, 5000)].find((key) => this.columns.has(key));
            this.sort = "";
        }
        this.writeChoice();
        this.shownKeys = null;
        this.showColumns();
        this.table.setSort(this.sort || this.usualSort, this.order);
    }

    // The columns that the reader chose, or those for which there is room; the one that is sorted by is always there.
    showColumns() {
        const wanted = (this.chosen ?? usual(this.columns, this.table.scroll.parentNode.clientWidth))
            .filter((key) => key !== "cgroup" && this.columns.has(key));
        const keys = ["cgroup", ...wanted];

        if (this.columns.has(this.sort) && !keys.includes(this.sort))
            keys.push(this.sort);
        if (this.columns.size === 0 || keys.join() === this.shownKeys)
            return;
        this.shownKeys = keys.join();
        this.table.setColumns(keys.map((key) => this.columns.get(key)));
        for (const box of this.choice.querySelectorAll("input"))
            box.checked = keys.includes(box.value);
    }

    writeChoice() {
        const keys = [...new Set([...usual(this.columns, Infinity), ...this.columns.keys()])];
        const box = (column) => element("label", { class: "choice", title: column.help },
            element("input", { type: "checkbox", value: column.key, onchange: () => this.onChoice() }), column.title);

        replace(this.choice, element("legend", { class: "unseen" }, "Columns"),
                keys.filter((key) => key !== "cgroup").map((key) => box(this.columns.get(key))),
                element("button", { type: "button", onclick: () => this.choose(null) }, "The usual ones"),
                this.absentMetrics());
    }

    // The metrics that no column can show, each with the reason.
    absentMetrics() {
        const lines = [];

        for (const entry of this.cgroups.formulas.values()) {
            const why = entry.absent.find((one) => one.collector === "cgroup");
            if (why && !this.columns.has(entry.name))
                lines.push(element("li", {}, `${entry.name}: ${plain(why.message)}`));
        }
        return lines.length === 0 ? null
            : element("details", { class: "quiet" }, element("summary", {}, `Not here: ${lines.length} metrics`),
                      element("ul", {}, lines));
    }

    onChoice() {
        this.choose([...this.choice.querySelectorAll("input:checked")].map((box) => box.value));
    }

    choose(keys) {
        this.chosen = keys?.length ? keys : null;
        this.save();
        this.showColumns();
    }

    onSort(key, order) {
        this.sort = key;
        this.order = order;
        this.save();
        this.showColumns();
    }

    onFilter() {
        this.filter = this.input.value;
        this.save();
        this.show();
        clearTimeout(this.timer);
        this.timer = setTimeout(() => this.page.say(this.note.textContent), 600);
    }

    onRow(row) {
        this.openKey = this.openKey === row.key ? null : row.key;
        this.save();
        this.showOpened();
    }

    showOpened() {
        const row = this.rows.find((one) => one.key === this.openKey);

        if (row && this.opened?.key === row.key) {
            this.opened.take(row);
            return;
        }
        if (!row && this.opened?.key === this.openKey)
            return;
        this.opened?.close();
        this.opened = row ? new Opened(row, this.columns, this.history) : null;
        this.table.open(row?.key ?? null, this.opened?.root);
    }

    show() {
        const wanted = filterOf(this.filter);
        const rows = this.rows.filter(wanted);

        this.table.setEmpty(this.empty());
        this.table.update(rows);
        this.showOpened();
        write(this.note, this.sentence(rows.length));
    }

    sentence(n) {
        const all = this.rows.length;
        const still = all > 0 && this.rows.every((row) => [...row.values.values()].every((one) => one.value === null));
        const failed = this.answer?.totals.some((one) => one.state === "failed");
        const text = n === all ? `${count(all)} ${all === 1 ? "cgroup" : "cgroups"}.`
            : `${count(n)} of ${count(all)} cgroups match the filter.`;

        if (failed)
            return `${text} They are not counted any more: see Health.`;
        return still ? `${text} Nothing was counted in the last seconds: see Health.` : text;
    }

    // The sentence in place of rows.
    empty() {
        if (this.rows.length > 0)
            return `No cgroup that is counted has "${plain(this.filter)}" in its path or its names.`;
        if (!this.config)
            return "Waiting for the first answer.";
        if (!this.config.enabled)
            return "Cgroups are not counted, because collectors.cgroup.enabled is false in the configuration.";
        if (this.fault)
            return `Cgroups are not counted. ${sentence(this.fault)}`;
        const patterns = this.config.include.map((pattern) => `"${plain(pattern)}"`).join(", ");
        return `There is no cgroup to count below ${plain(this.cgroups.document.hierarchy ?? "any hierarchy")} that ` +
               `matches ${patterns}. To count others, add their patterns to collectors.cgroup.include in the ` +
               "configuration and reload the daemon.";
    }

    async explain(signal) {
        const { collectors } = await this.page.client.json("api/v1/status", { signal });
        const own = collectors.find((one) => one.name === "cgroup");

        this.fault = own.enabled && !own.success ? own.error : "";
        this.config ??= (await this.page.client.json("api/v1/config", { signal })).collectors.cgroup;
        this.show();
    }

    // Lists the cgroups that match the patterns and are not counted. Not before the first rows: they would push
    // the list away from under the pointer. The summary stays the same element, so that it keeps the focus.
    showDropped() {
        const dropped = this.cgroups.dropped, { limit, descriptors_each } = this.cgroups.document;
        const names = dropped.slice(0, listedMax).map((one) => element("li", { title: plain(one.path) }, one.title));
        const rest = dropped.length - names.length;

        this.dropped.hidden = dropped.length === 0;
        if (dropped.length === 0)
            return;
        write(this.droppedTitle, `${count(dropped.length)} cgroups are not counted`);
        replace(this.droppedBody,
                element("p", {}, `There is room for ${count(limit)}` +
                        (descriptors_each ? `, each with ${descriptors_each} open files` : "") +
                        ". To count more, raise collectors.cgroup.max_cgroups" +
                        (descriptors_each ? " and the limit of open files" : "") +
                        ", or include fewer. The cgroups that are nearest to the root come first."),
                element("ul", {}, names, rest > 0 ? element("li", {}, `and ${count(rest)} more`) : null));
    }

    // The reader followed a link, or went back.
    follow(parameters) {
        this.take(parameters);
        this.input.value = this.filter;
        this.showColumns();
        this.table.setSort(this.sort || this.usualSort, this.order);
        this.show();
    }

    close() {
        this.poll.close();
        this.observer.disconnect();
        clearTimeout(this.timer);
        this.opened?.close();
    }
}

export const services = {
    name: "services",
    title: "Services",
    open(root, page) {
        const view = new Services(root, page);

        return { close: () => view.close(), follow: (parameters) => view.follow(parameters) };
    },
};
