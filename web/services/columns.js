// SPDX-License-Identifier: Apache-2.0
// The columns of the table: the name of a cgroup, its bar and its sparkline, the available metrics, its events, and the
// link to its flame graph.
import { element, plain, write } from "../element.js";
import { Line } from "../lines.js";
import { absent, amount, count, metric, percent, titleOf, unitLabel, whole } from "../numbers.js";
import { kinds, shortText } from "./cgroups.js";
import { Hour } from "./hour.js";

// Default columns, in order of priority: those that are available and not constant are shown, as many as fit.
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
        return "Starved: no counter was free for its group. The value is unknown, not zero.";
    if (one.value === null)
        return "Unknown in this interval.";
    return classesOf(one) ? `An estimate: counted for ${percent(one.share)} of the time.` : "";
}

// Returns the column of a metric or an event. `write` formats a value.
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

// Returns a table column that shows names given by systemd or by a container runtime. Names are untrusted.
function nameColumn(key, help) {
    const value = (row) => row.names.get(key) ?? "";

    return { key, title: titleOf(key), help: `${help}.`, number: false, value, hint: (row) => plain(value(row)),
             text: (row) => value(row) ? shortText(value(row)) : absent };
}

function timesOf(group) {
    const share = group.starved ? "starved" : group.share === null ? "its tasks did not run" : percent(group.share);

    return `${plain(group.name)} (${group.pmus.map(plain).join(", ")}): ${share}`;
}

// Returns the share of time that each group of a row was counted, as lines of text.
export function sharesOf(row) {
    return row.groups.map(timesOf);
}

function kindOf(row) {
    const inside = row.children?.length ?? 0;
    const kind = row.names.has("pod") ? "pod" : row.names.has("container") ? "container" : "";

    return [kind, inside > 0 && `${count(inside)} inside`].filter(Boolean).join(" · ");
}

const name = { key: "cgroup", title: "Service", note: kindOf,
               help: "The name. The events of a cgroup include those of its descendants.",
               number: false, heading: true, value: (row) => row.title, text: (row) => row.title,
               hint: (row) => plain(row.path).slice(0, 1000) };
const counted = { key: "counted", title: "Counted", number: true,
                  help: "The lowest share of time for which a group was counted. Below 100 %, values are estimates.",
                  value: (row) => row.share, text: (row) => row.share === 0 ? "starved" : percent(row.share),
                  classes: (row) => row.share !== null && row.share < whole ? "warn" : "",
                  hint: (row) => sharesOf(row).join("\n") };

// Returns all possible columns by key. `metrics` are entries of /api/v1/metrics, `values` the names of values that
// occur in rows.
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

// Adds a bar to a column. The length of the bar is `row.bar`, the value as a share of the highest value.
export function withBar(column) {
    return { ...column, classes: (row) => `main ${column.classes(row)}`, make() {
        const bar = element("i"), number = element("span", { class: "value" });

        return { root: element("div", { class: "bar" }, bar, number), write(row) {
            write(number, column.text(row));
            bar.style.width = `${100 * (row.bar ?? 0)}%`;
        } };
    } };
}

// The sparkline of a value in a row.
export class ValueLine {
    constructor(column) {
        this.column = column;
        this.hour = new Hour();
        this.line = new Line(this.hour, column.key, { label: column.title, text: column.write });
        this.root = this.line.element;
    }

    // `line` and `span` are as returned by linesOf().
    take(row, line, span) {
        this.line.label = `${this.column.title} of ${row.title}`;
        if (this.hour.take(line, span))
            this.line.update();
    }

    close() {
        this.line.close();
    }
}

// Returns a column of sparklines. lineOf(row) returns the points of a row, spanOf() the seconds that they cover.
export function lineColumn(column, title, lineOf, spanOf) {
    return { key: "line", title, make() {
        const line = new ValueLine(column);

        return { root: line.root, write: (row) => line.take(row, lineOf(row), spanOf()), close: () => line.close() };
    } };
}

// Returns the column of links to flame graphs. hrefOf(row) returns the URL.
export function profileColumn(hrefOf) {
    return { key: "profile", title: "", make() {
        const link = element("a", { tabindex: -1 }, "Profile");

        return { root: link, write(row) {
            link.href = hrefOf(row);
            link.setAttribute("aria-label", `Profile of ${row.title}`);
        } };
    } };
}

// Returns whether a column is informative for any of the rows, i.e. contains a share of time below 100 %, a name that
// differs from the row's title, or a number other than 0.
export function isTelling(column, rows) {
    if (column.key === "counted")
        return rows.some((row) => row.share !== null && row.share < whole);
    if (kinds.has(column.key))
        return rows.some((row) => column.value(row) && column.value(row) !== row.name);
    return rows.some((row) => column.value(row) || row.values.get(column.key)?.starved);
}

// Returns how many columns fit into a width in pixels, in addition to the name, the bar, the sparkline and the link.
function room(width) {
    return Math.max(0, Math.min(12, Math.floor((width - 640) / 115)));
}

// Returns the keys of the default columns. `telling` are the columns that are informative.
export function usual(columns, width, telling = new Set(columns.keys())) {
    return first.filter((key) => columns.has(key) && telling.has(key)).slice(0, room(width));
}
