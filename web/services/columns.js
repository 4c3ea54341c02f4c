// SPDX-License-Identifier: Apache-2.0
// The columns of the table: what a cgroup is called, its bar and its line, the metrics that it has here, its events, and
// the way to its profile.
import { element, plain, write } from "../element.js";
import { Line } from "../lines.js";
import { absent, amount, count, metric, percent, titleOf, unitLabel, whole } from "../numbers.js";
import { kinds, shortText } from "./cgroups.js";
import { Hour } from "./hour.js";

// The first of these that are here and say something are shown, as many as there is room for.
const first = ["ipc", "counted", "frequency_hertz", "backend_stall_ratio", "cache_miss_ratio",
               "llc_mpki", "branch_mpki", "context_switches", "minor_faults", "image", "major_faults",
               "container", "unit"];

function classesOf(one) {
    if (one?.starved)
        return "warn";
    if (one?.value === 0)
        return "quiet";
    return one && one.value !== null && (one.share ?? 1) < whole ? "estimate" : "";
}

function hintOf(one) {
    if (one === undefined)
        return "";
    if (one.starved)
        return "Starved: no counter was free for its group. This is not zero.";
    if (one.value === null)
        return "Not known in this interval.";
    return classesOf(one) ? `An estimate: counted for ${percent(one.share)} of the time.` : "";
}

// A column of a metric or an event; `write` turns its value into text.
function valueColumn(name, help, write) {
    return {
        key: name, title: titleOf(name), help, number: true, write,
        value: (row) => row.values.get(name)?.value ?? null,
        text(row) {
            const one = row.values.get(name);
            return one?.starved ? "starved" : one && one.value !== null ? write(one.value) : absent;
        },
        classes: (row) => classesOf(row.values.get(name)),
        hint: (row) => hintOf(row.values.get(name)),
    };
}

function metricColumn(entry) {
    const label = unitLabel(entry.unit);

    return valueColumn(entry.name, label ? `${entry.help} Unit: ${label}.` : entry.help,
                       (value) => metric(value, entry.unit, entry.name));
}

function eventColumn(name) {
    const column = valueColumn(name, `${plain(name)} per second.`, (value) => amount(value, "/s"));

    return name === "task_clock" ? valueColumn(name, "Seconds of CPU time per second.", (value) => amount(value))
        : { ...column, title: plain(column.title) };
}

// Of a name that systemd, or a stranger, gave.
function nameColumn(key, help) {
    const value = (row) => row.names.get(key) ?? "";

    return { key, title: titleOf(key), help: `${help}.`, number: false, value, hint: (row) => plain(value(row)),
             text: (row) => value(row) ? shortText(value(row)) : absent };
}

function timesOf(group) {
    const share = group.starved ? "starved" : group.share === null ? "its tasks did not run" : percent(group.share);

    return `${plain(group.name)} (${group.pmus.map(plain).join(", ")}): ${share}`;
}

// The share of the time that each group of a row was counted, as lines.
export function sharesOf(row) {
    return row.groups.map(timesOf);
}

function kindOf(row) {
    const inside = row.children?.length ?? 0;
    const kind = row.names.has("pod") ? "pod" : row.names.has("container") ? "container" : "";

    return [kind, inside > 0 && `${count(inside)} inside`].filter(Boolean).join(" · ");
}

const name = { key: "cgroup", title: "Service", note: kindOf,
               help: "Its name. The events of a cgroup include those of all below it.",
               number: false, heading: true, value: (row) => row.title, text: (row) => row.title,
               hint: (row) => plain(row.path).slice(0, 1000) };
const counted = { key: "counted", title: "Counted", number: true,
                  help: "Share of the time that it was counted, of its groups the least. Below 100 %: estimates.",
                  value: (row) => row.share, text: (row) => row.share === 0 ? "starved" : percent(row.share),
                  classes: (row) => row.share !== null && row.share < whole ? "warn" : "",
                  hint: (row) => sharesOf(row).join("\n") };

// All columns that there can be, by key. `metrics` are entries of /api/v1/metrics, `values` what rows have.
export function columnsOf(metrics, values) {
    const names = [...kinds].filter(([kind]) => values.has(kind)).map((one) => nameColumn(...one));
    const of = new Map([name, counted, ...names].map((column) => [column.key, column]));

    for (const entry of metrics.values())
        if (entry.name !== "running_ratio" && (values.has(entry.name) ||
                                               entry.available.some((one) => one.collector === "cgroup")))
            of.set(entry.name, metricColumn(entry));
    for (const name of [...values].sort())
        if (!of.has(name) && !(name === "task_clock" && of.has("cpu_utilization")))
            of.set(name, eventColumn(name));
    return of;
}

// A column with a bar before its numbers, as long as the share of the highest that row.bar has.
export function withBar(column) {
    return { ...column, classes: (row) => `main ${column.classes(row)}`, make() {
        const bar = element("i"), number = element("span", { class: "value" });

        return { root: element("div", { class: "bar" }, bar, number), write(row) {
            write(number, column.text(row));
            bar.style.width = `${100 * (row.bar ?? 0)}%`;
        } };
    } };
}

// The line of a value of a row.
export class ValueLine {
    constructor(column) {
        this.column = column;
        this.hour = new Hour();
        this.line = new Line(this.hour, column.key, { label: column.title, text: column.write });
        this.root = this.line.element;
    }

    // `line` and `span` are as those of linesOf().
    take(row, line, span) {
        this.line.label = `${this.column.title} of ${row.title}`;
        if (this.hour.take(line, span))
            this.line.update();
    }

    close() {
        this.line.close();
    }
}

// The lines of the values of a column; lineOf(row) has them, of the seconds that spanOf() returns.
export function lineColumn(column, title, lineOf, spanOf) {
    return { key: "line", title, make() {
        const line = new ValueLine(column);

        return { root: line.root, write: (row) => line.take(row, lineOf(row), spanOf()), close: () => line.close() };
    } };
}

// The way to the flame graph of a row; hrefOf(row) is its address.
export function profileColumn(hrefOf) {
    return { key: "profile", title: "", make() {
        const link = element("a", { tabindex: -1 }, "Profile");

        return { root: link, write(row) {
            link.href = hrefOf(row);
            link.setAttribute("aria-label", `Profile of ${row.title}`);
        } };
    } };
}

// Whether a column says something about any of the rows: a share of time below 100 %, a name that is not that of the
// row already, a number that is not 0.
export function isTelling(column, rows) {
    if (column.key === "counted")
        return rows.some((row) => row.share !== null && row.share < whole);
    if (kinds.has(column.key))
        return rows.some((row) => column.value(row) && column.value(row) !== row.name);
    return rows.some((row) => column.value(row) || row.values.get(column.key)?.starved);
}

// The number of columns besides the name, the bar, the line and the link that fit into a width in pixels.
function room(width) {
    return Math.max(0, Math.min(12, Math.floor((width - 640) / 115)));
}

// The keys of the columns that are shown where the reader has not chosen; `telling` has those that say something.
export function usual(columns, width, telling = new Set(columns.keys())) {
    return first.filter((key) => columns.has(key) && telling.has(key)).slice(0, room(width));
}
