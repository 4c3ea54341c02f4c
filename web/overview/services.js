// SPDX-License-Identifier: Apache-2.0
// Services on the overview: the legend of the wide chart, and the table of the busiest services.
import { element, plain, replace, write } from "../element.js";
import { Line } from "../lines.js";
import { absent, amount, digits, metric, percent, titleOf, unitLabel, whole } from "../numbers.js";
import { shortText } from "../services/cgroups.js";
import { isWorse } from "./tiles.js";

export const bands = 6; // number of services that have their own colour

// Candidates for columns: the first three that a record contains are shown. `better`: 1 if higher is better, -1 if
// lower is, 0 for neither.
const columns = new Map(Object.entries({ ipc: { title: "IPC", better: 1 },
    backend_stall_ratio: { title: "Stall", better: -1 }, llc_mpki: { title: "LLC MPKI", better: -1 },
    l2_mpki: { title: "L2 MPKI", better: -1 }, context_switches: { title: "Switches", better: 0 },
    minor_faults: { title: "Faults", better: 0 }, major_faults: { title: "Major", better: 0 } }));
const mostColumns = 3;

const othersHelp = "CPU time of everything else: other cgroups, processes outside counted cgroups, and the kernel.";

export const swatchOf = (i) => i >= 0 && i < bands ? `band-${i + 1}` : "band-others";

function swatch(i) {
    return element("i", { class: `swatch ${swatchOf(i)}` });
}

// Returns {title, note} of a cgroup: its name, and its kind or its parent. `identity` comes from services/cgroups.js.
export function nameOf(path, identity) {
    const parent = path.slice(0, path.lastIndexOf("/")).replace(/^\//, ""), kinds = ["container", "pod", "unit"];
    const title = identity?.title ?? shortText(path.slice(path.lastIndexOf("/") + 1) || path);
    const kind = kinds.find((name) => identity?.names.has(name) && name !== "unit");

    return { title, note: kind ?? shortText(parent) };
}

// --- The legend beside the chart: the values at a moment, over the selected interval, or now.

export class Legend {
    constructor(links) {
        this.links = links;
        this.when = element("span");
        this.what = element("small");
        this.list = element("ul");
        this.root = element("div", { class: "legend" }, element("h3", {}, this.when, " ", this.what), this.list);
    }

    // `services`: [{path, title}]. Without services the whole chart is one band, whose label is the first text in
    // `extra`.
    make(services, extra) {
        const key = JSON.stringify([services, extra]);
        const row = (mark, name, className = "") => {
            const value = element("b", {}, absent);
            return { value, root: element("li", { class: className }, mark, name, value) };
        };

        if (key === this.key)
            return;
        this.key = key;
        this.rows = services.map(({ path, title }, i) => row(swatch(i),
            element("a", { href: this.links(path), title: `Flame graph of ${plain(path).slice(0, 300)}` }, title)));
        if (services.length > 0)
            this.rows.push(row(swatch(-1), element("span", { title: othersHelp }, "others")));
        this.sums = extra.map((name, i) => row(i || services.length ? element("i") : swatch(0),
                                               element("span", {}, name), i || !services.length ? "" : "sum"));
        replace(this.list, [...this.rows, ...this.sums].map((one) => one.root));
    }

    // `values` are the values of the services, followed by the value of all others; `sums` are the texts of the rows
    // below the services.
    show(when, what, values, sums) {
        const text = (value) => Number.isFinite(value) ? value.toFixed(2) : absent;

        write(this.when, when);
        write(this.what, what);
        this.rows.forEach((one, i) => write(one.value, text(values[i])));
        this.sums.forEach((one, i) => write(one.value, sums[i]));
    }
}

// --- The table.

function columnOf(name, metrics) {
    const entry = metrics.get(name), label = entry ? unitLabel(entry.unit) : "";

    return { name, ...columns.get(name),
        help: entry ? `${entry.help} ${label}`.trim() : `${titleOf(name)} per second`,
        text: (value) => entry ? metric(value, entry.unit, name) : value > 0 && value < 0.05 ? "< 0.1" : amount(value) +
            (value >= 1000 ? "/s" : " /s") };
}

class Cell {
    constructor() {
        this.value = element("span");
        this.was = element("small", { class: "was" });
        this.root = element("td", { class: "number" }, this.value, this.was);
    }

    // `before` is NaN if nothing is compared. `starved` is the reason for a missing value, or null.
    write({ better, text }, { value, share, before, starved }) {
        const isEstimate = share < whole, worse = isWorse({ better }, value, before) || starved !== null;

        write(this.value, Number.isFinite(value) ? text(value) : starved !== null ? "starved" : absent);
        write(this.was, Number.isFinite(before) ? `was ${text(before)}` : "");
        this.root.className = `number${isEstimate ? " estimate" : ""}${worse ? " warn" : ""}`;
        this.root.title = starved !== null ? `Starved: ${starved}. The value is unknown, not zero.`
            : !Number.isFinite(value) ? "Unknown: it is not counted, or its group was starved, paused or failed then."
            : isEstimate ? `An estimate: counted for ${percent(share)} of the time.` : "";
    }
}

class Row {
    constructor(path, name, colour, columns, { tracks, links, onPoint }) {
        const title = element("a", { href: links.services(path) }, name.title);

        this.bar = element("i", { class: `bar ${swatchOf(colour)}` });
        this.number = element("span");
        this.was = element("small", { class: "was" });
        this.line = new Line(tracks, path, { label: `CPU time of ${name.title}`, colour: `--${swatchOf(colour)}`,
                                             onPoint, text: (value) => `${digits(value)} CPUs` });
        this.cells = columns.map(() => new Cell());
        this.root = element("tr", { "data-cgroup": path },
            element("th", { scope: "row", title: plain(path).slice(0, 300) }, swatch(colour), " ", title, " ",
                    element("span", { class: "quiet note" }, name.note)),
            element("td", { class: "number share" }, this.bar, this.number, this.was),
            element("td", { class: "track" }, this.line.element), this.cells.map((cell) => cell.root),
            element("td", { class: "action" }, element("a", { href: links.profile(path), "aria-label":
                `Flame graph of ${name.title}` }, "Flame graph")));
    }
}

export class Busiest {
    // `options`: {tracks, onPoint, links: {services(path), profile(path)}}
    constructor(options) {
        this.options = options;
        this.rows = [];
        this.when = element("small");
        this.head = element("tr");
        this.body = element("tbody");
        this.empty = element("p", { class: "quiet", hidden: true });
        this.table = element("table", {}, element("caption", { class: "unseen" }, "The busiest services"),
                             element("thead", {}, this.head), this.body);
        this.root = element("section", { class: "card busiest", "aria-label": "Busiest services" },
            element("h2", {}, "Busiest services ", this.when),
            element("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "The busiest services" },
                    this.table), this.empty);
    }

    // `services`: [{path, cpus, name, colour}]. `record` contains the other values of the services. `span` is the title
    // of the column of charts. `compared` is null or {usage, record} of the base interval. starvedOf(path, name, lines)
    // returns the reason for a missing value, or null.
    show(services, { record, compared, metrics, when, span, starvedOf }) {
        const lines = services.map(({ path }) => record.of(path));
        const names = [...columns.keys()].filter((name) => lines.flat().some((line) => line.values.has(name)))
            .slice(0, mostColumns).map((name) => columnOf(name, metrics));
        const key = JSON.stringify([services.map(({ path, name, colour }) => [path, name, colour]), names, span]);

        write(this.when, when);
        this.table.parentNode.hidden = services.length === 0;
        if (key !== this.key)
            this.make(services, names, span);
        this.key = key;
        const most = services[0]?.cpus ?? 1;
        services.forEach(({ path, cpus }, i) => {
            const row = this.rows[i];
            row.bar.style.width = `${(100 * cpus / most).toFixed(1)}%`;
            write(row.number, cpus.toFixed(2));
            write(row.was, compared ? `was ${(compared.usage.get(path) ?? 0).toFixed(2)}` : "");
            names.forEach((column, k) => {
                const { value, share, lines } = this.valueOf(column.name, record, path);
                row.cells[k].write(column, { value, share, starved: Number.isFinite(value) ? null
                    : starvedOf(path, column.name, lines), before: compared
                    ? this.valueOf(column.name, compared.record, path).value : NaN });
            });
            row.line.update();
        });
    }

    valueOf(name, record, path) {
        const lines = record.having(name, (one) => one.cgroup === path), [line] = lines;

        const of = (what) => line ? record.value(line, what) : NaN;

        return { lines, value: of(name), share: of("counted") };
    }

    make(services, names, span) {
        const heading = (text, className, help = null) =>
            element("th", { scope: "col", class: className, title: help }, text);

        this.close();
        this.rows = services.map(({ path, name, colour }) => new Row(path, name, colour, names, this.options));
        replace(this.head, heading("Service"), heading("CPUs", "number"), heading(span, "track"),
                names.map(({ title, help }) => heading(title, "number", help)), element("td"));
        replace(this.body, this.rows.map((row) => row.root));
    }

    // Shows a sentence if there are no rows.
    explain(sentence) {
        this.empty.hidden = sentence === "";
        write(this.empty, sentence);
    }

    markAt(time) {
        for (const { line } of this.rows)
            line.markAt(time);
    }

    close() {
        for (const { line } of this.rows)
            line.close();
    }
}
