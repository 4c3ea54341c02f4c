// SPDX-License-Identifier: Apache-2.0
// The Services view: slices with the services and containers inside them, as a tree with columns.
//
// Each answer contains all cgroups, since reading the counters costs the daemon far more than writing the answer.
// Therefore the table can be sorted, and filtered while the user types, without further requests.
import { Age } from "../age.js";
import { Fault } from "../client.js";
import { element, plain, replace, write } from "../element.js";
import { History } from "../history.js";
import { count } from "../numbers.js";
import { openerFault, sentence } from "../health/findings.js";
import { Poll } from "../poll.js";
import { Table } from "../table.js";
import { Cgroups, filterOf } from "./cgroups.js";
import { columnsOf, isTelling, lineColumn, profileColumn, usual, withBar } from "./columns.js";
import { lineOf, linesOf, parametersOf, parametersOfOne, titleOfSpan } from "./hour.js";
import { Opened } from "./opened.js";
import { Folds, flatten, nest, withAncestors } from "./tree.js";

const seconds = 2, firstSeconds = 0.5, listingMs = 30000, hourMs = 60000, listedMax = 200;

// Returns the key of a cgroup's value in a History.
function nameOf(row, value) {
    return `${value} ${row.key}`;
}

class Services {
    constructor(root, page) {
        this.page = page;
        this.cgroups = new Cgroups();
        this.answer = null;
        this.rows = [];
        this.names = new Set(); // names of all values that have occurred in rows
        this.telling = new Set(); // columns that have been informative at least once (isTelling())
        this.columns = new Map();
        this.past = null; // result of linesOf() for the last hour, if the daemon has a history
        this.pastOfOpened = null;
        this.listed = -Infinity;
        this.opened = null;
        page.kept.set("services", page.kept.get("services") ?? new History());
        this.history = page.kept.get("services");
        this.take(page.address.parameters);
        this.build(root);
        this.poll = new Poll(page, 0, (signal) => this.ask(signal));
        this.hour = null; // a Poll for the last hour; null until the column to request is known
        this.observer = new ResizeObserver(() => this.showColumns());
        this.observer.observe(root);
    }

    // Takes the state from the URL.
    take(parameters) {
        this.sort = parameters.get("sort") ?? "";
        this.order = parameters.get("order") === "asc" ? "asc" : "desc";
        this.filter = parameters.get("filter") ?? "";
        this.chosen = parameters.get("columns")?.split(",") ?? null;
        this.openKey = parameters.get("open");
        this.folds = new Folds(parameters);
    }

    save() {
        this.page.address.write({ sort: this.sort, order: this.sort && this.order, filter: this.filter,
                                  columns: this.chosen?.join(",") || null, open: this.openKey,
                                  ...this.folds.parameters });
    }

    build(root) {
        this.input = element("input", { type: "search", value: this.filter, autocomplete: "off", spellcheck: "false",
                                        "aria-label": "Filter: part of a name, or a pattern", size: 30,
                                        placeholder: "Filter: ssh, *.service, image=db:*",
                                        oninput: () => this.onFilter() });
        this.choice = element("fieldset", {}, element("legend", {}, "Columns"));
        this.note = element("small");
        this.foldAll = element("button", { type: "button", hidden: true, onclick: () => this.onFoldAll() });
        this.opener = element("p", { class: "warn", hidden: true });
        this.droppedTitle = element("summary");
        this.droppedBody = element("div");
        this.dropped = element("details", { class: "card", hidden: true }, this.droppedTitle, this.droppedBody);
        const card = element("section", { class: "card", "aria-label": "Services" },
                             element("div", { class: "bar-of-card" }, element("h2", {}, "Services", " ", this.note),
                                     element("div", { class: "controls" }, this.input, this.foldAll, element("details",
                                         { class: "columns" }, element("summary", {}, "Columns"), this.choice))));
        this.table = new Table(card, {
            label: "Cgroups, per second", columns: [], sort: this.sort, order: this.order, openable: true,
            empty: "Waiting for the first answer.", onSort: (key, order) => this.onSort(key, order),
            onRow: (row) => this.onRow(row), onFold: (row) => this.onFold(row),
            inOrder: (rows, sort) => flatten(rows, sort, (row) => this.isFolded(row)),
            isFolded: (row) => this.isFolded(row),
        });
        this.age = new Age(this.page, [this.table.scroll]);
        this.table.scroll.before(this.opener, this.age.note);
        replace(root, card, this.dropped);
    }

    async ask(signal) {
        // Only the totals are used, so the answer is limited to one row.
        const options = { signal, parameters: { collector: "cgroup", seconds: this.answer ? seconds : firstSeconds,
                                                totals: "cgroup", limit: 1 } };

        if (!this.cgroups.formulas)
            this.cgroups.learnMetrics(await this.page.client.json("api/v1/metrics", { signal }));
        this.hour ??= new Poll(this.page, hourMs, (other) => this.askHour(other));
        if (performance.now() - this.listed > listingMs)
            await this.list(signal);
        const answer = await this.page.client.json("api/v1/rates", options);
        const why = await this.absence(answer, signal);
        this.age.take(why);
        if (!why || this.rows.length === 0)
            this.takeAnswer(answer);
        if (this.rows.length === 0)
            await this.explain(signal);
    }

    // Returns why an answer has no new numbers, or "".
    async absence(answer, signal) {
        const isKnown = (one) => [...Object.values(one.events), ...Object.values(one.ratios)].some((n) => n !== null);

        if (answer.totals.length === 0 || answer.totals.some(isKnown))
            return "";
        const { collectors, paused } = await this.status(signal);
        const own = collectors.find((one) => one.name === "cgroup");

        if (own.enabled && !own.success)
            return `cgroups are no longer counted. ${sentence(own.error)} See Health.`;
        return paused ? "counting is paused. See Health." : "nothing was counted in the last few seconds. See Health.";
    }

    async status(signal) {
        const status = await this.page.edition.status(signal);
        const fault = openerFault(status);

        this.opener.hidden = !fault;
        write(this.opener, fault);
        return status;
    }

    // Requests the lines of the last hour. Without a history, the view uses what this tab has recorded.
    async askHour(signal) {
        const { client } = this.page;
        const ask = async (parameters) => linesOf(await client.json("api/v1/history", { signal, parameters }));
        const main = this.mainKey(), entry = this.cgroups.formulas.get(main), { openKey } = this;

        try {
            if (main)
                this.past = await ask(parametersOf(main, entry));
            if (openKey)
                this.pastOfOpened = await ask(parametersOfOne(openKey, [...this.cgroups.formulas.keys()]));
        } catch (error) {
            if (!(error instanceof Fault) || error.status !== 404)
                throw error;
            this.past = null;
            this.hour.close();
        }
        this.showColumns();
        this.show();
    }

    // Returns the column with bars and sparklines: CPU time or, if that is not counted, the column by which the table
    // is sorted by default.
    mainKey() {
        const { formulas } = this.cgroups, isHere = (one) => one.collector === "cgroup";

        return formulas?.get("cpu_utilization")?.available.some(isHere) ? "cpu_utilization" : this.usualSort ?? null;
    }

    lineOf(row, name) {
        const known = [this.pastOfOpened, this.past].map((past) => past?.lines.get(row.key)?.get(name)).find(Boolean);

        return known ?? lineOf(this.history, nameOf(row, name), this.span);
    }

    // Returns the seconds that the lines cover.
    get span() {
        return this.past?.span ?? this.history.seconds;
    }

    async list(signal) {
        const [listed] = await Promise.all([this.page.client.json("api/v1/cgroups", { signal }), this.status(signal)]);

        this.cgroups.learn(listed);
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
        this.rows = nest(rows);
        this.keep();
        if (first || this.names.size !== before)
            this.learnColumns();
        else
            this.tell();
        this.answer = answer;
        this.show();
        if (first)
            this.showDropped();
    }

    // Records the values of all cgroups, so that every row has its lines when it is opened later.
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
        this.tell();
        this.table.setSort(this.sort || this.usualSort, this.order);
    }

    // A column that was informative once stays, so that columns do not come and go.
    tell() {
        for (const [key, column] of this.columns)
            if (!this.telling.has(key) && isTelling(column, this.rows))
                this.telling.add(key);
        this.showColumns();
    }

    // Shows the selected columns, or the informative ones that fit. The column by which the table is sorted is always
    // shown.
    showColumns() {
        const main = this.mainKey(), width = this.table.scroll.parentNode.clientWidth;
        const wanted = this.chosen ?? [main, "line", ...usual(this.columns, width, this.telling)];
        const keys = new Set([...wanted, this.columns.has(this.sort) ? this.sort : main]);

        if (this.columns.size === 0)
            return;
        const columns = ["cgroup", ...keys, "profile"].map((key) => this.columnOf(key, main)).filter(Boolean);
        const shown = [...new Set(columns)].map((one) => one.key).join();
        this.table.retitle("line", titleOfSpan(this.span));
        if (shown === this.shownKeys)
            return;
        this.shownKeys = shown;
        this.table.setColumns([...new Set(columns)]);
        for (const box of this.choice.querySelectorAll("input"))
            box.checked = keys.has(box.value);
    }

    columnOf(key, main) {
        const column = this.columns.get(key), of = this.columns.get(main);

        if (key === "line")
            return of ? lineColumn(of, titleOfSpan(this.span), (row) => this.lineOf(row, main), () => this.span)
                : null;
        if (key === "profile")
            return profileColumn((row) => this.page.address.of("profile", { cgroup: row.path }));
        return key === main && of ? withBar(of) : column;
    }

    writeChoice() {
        const keys = [...new Set([this.mainKey(), ...usual(this.columns, Infinity), ...this.columns.keys()])]
            .filter((key) => this.columns.has(key));
        const box = (column) => element("label", { class: "choice", title: column.help },
            element("input", { type: "checkbox", value: column.key, onchange: () => this.onChoice() }), column.title);

        replace(this.choice, element("legend", { class: "unseen" }, "Columns"),
                keys.filter((key) => key !== "cgroup").map((key) => box(this.columns.get(key))),
                element("button", { type: "button", onclick: () => this.choose(null) }, "Default columns"),
                this.absentMetrics());
    }

    // Returns the metrics that are not available, each with the reason.
    absentMetrics() {
        const lines = [];

        for (const entry of this.cgroups.formulas.values()) {
            const why = entry.absent.find((one) => one.collector === "cgroup");
            if (why && !this.columns.has(entry.name))
                lines.push(element("li", {}, `${entry.name}: ${plain(why.message)}`));
        }
        return lines.length === 0 ? null
            : element("details", { class: "quiet" }, element("summary", {}, `Unavailable metrics: ${lines.length}`),
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

    // While a filter is set, nothing is folded.
    isFolded(row) {
        return this.filter.trim() === "" && this.folds.has(row.key);
    }

    onFold(row) {
        this.folds.toggle(row.key);
        this.save();
        this.show();
    }

    onFoldAll() {
        this.folds.setAll(!this.folds.all);
        this.save();
        this.show();
    }

    onRow(row) {
        this.openKey = this.openKey === row.key ? null : row.key;
        this.pastOfOpened = null;
        this.save();
        this.showOpened();
        if (this.openKey && this.past)
            this.hour.resume();
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
        this.opened = row ? new Opened(row, this.columns, (one, name) => this.lineOf(one, name), () => this.span)
            : null;
        this.table.open(row?.key ?? null, this.opened?.root);
    }

    show() {
        const wanted = filterOf(this.filter), matches = this.rows.filter(wanted), main = this.mainKey();
        const valueOf = (row) => row.values.get(main)?.value ?? 0;
        const highest = this.rows.reduce((most, row) => Math.max(most, valueOf(row)), 0) || 1;

        for (const row of this.rows)
            row.bar = valueOf(row) / highest;
        this.table.setEmpty(this.empty());
        this.table.update(withAncestors(this.rows, wanted));
        this.foldAll.hidden = this.filter.trim() !== "" || !this.rows.some((row) => row.children.length > 0);
        write(this.foldAll, this.folds.all ? "Unfold all" : "Fold all");
        this.showOpened();
        write(this.note, this.sentence(matches.length));
    }

    sentence(n) {
        const all = this.rows.length;

        return n === all ? `${count(all)} ${all === 1 ? "cgroup" : "cgroups"}.`
            : `${count(n)} of ${count(all)} cgroups match the filter.`;
    }

    // Returns the sentence that is shown if there are no rows.
    empty() {
        if (this.rows.length > 0)
            return `No counted cgroup has "${plain(this.filter)}" in its path or names.`;
        if (!this.config)
            return "Waiting for the first answer.";
        if (!this.config.enabled)
            return "Cgroups are not counted: collectors.cgroup.enabled is false in the configuration.";
        if (this.fault)
            return `Cgroups are not counted. ${sentence(this.fault)}`;
        const patterns = this.config.include.map((pattern) => `"${plain(pattern)}"`).join(", ");
        return `There is no cgroup to count below ${plain(this.cgroups.document.hierarchy ?? "any hierarchy")} that ` +
               `matches ${patterns}. To count others, add their patterns to collectors.cgroup.include in the ` +
               "configuration and reload the daemon.";
    }

    async explain(signal) {
        const { collectors } = await this.status(signal);
        const own = collectors.find((one) => one.name === "cgroup");

        this.fault = own.enabled && !own.success ? own.error : "";
        this.config ??= (await this.page.client.json("api/v1/config", { signal })).collectors.cgroup;
        this.show();
    }

    // Lists the cgroups that match the patterns and are not counted. The list appears only after the first rows, which
    // would otherwise push it away from under the pointer. The summary element is reused, so that it keeps the focus.
    showDropped() {
        const dropped = this.cgroups.dropped, { limit, descriptors_each } = this.cgroups.document;
        const names = dropped.slice(0, listedMax).map((one) => element("li", { title: plain(one.path) }, one.title));
        const rest = dropped.length - names.length;

        this.dropped.hidden = dropped.length === 0;
        if (dropped.length === 0)
            return;
        write(this.droppedTitle, `${count(dropped.length)} cgroups are not counted`);
        replace(this.droppedBody,
                element("p", {}, `At most ${count(limit)} cgroups are counted` +
                        (descriptors_each ? `, each with ${descriptors_each} open files` : "") +
                        ". To count more, raise collectors.cgroup.max_cgroups" +
                        (descriptors_each ? " and the limit of open files" : "") +
                        ", or include fewer cgroups. Those nearest to the root are counted first."),
                element("ul", {}, names, rest > 0 ? element("li", {}, `and ${count(rest)} more`) : null));
    }

    // Called when the user has followed a link or gone back.
    follow(parameters) {
        this.take(parameters);
        this.input.value = this.filter;
        this.showColumns();
        this.table.setSort(this.sort || this.usualSort, this.order);
        this.show();
    }

    close() {
        this.poll.close();
        this.hour?.close();
        this.age.close();
        this.observer.disconnect();
        this.opened?.close();
        this.table.close();
        clearTimeout(this.timer);
    }
}

export function open(root, page) {
    return new Services(root, page);
}
