// SPDX-License-Identifier: Apache-2.0
// Values of cgroups over the last hour, from the document of /api/v1/history. If the history is disabled, lines show
// what this tab has recorded. A line is [{x, y}]: x is the position in the visible time, 0 to 1; y is NaN in a gap.

const hour = 3600, leastSpan = 300, stepSeconds = 30, mostCgroups = 100; // in seconds, except for mostCgroups

// Returns the parameters that request the busiest cgroups by a column. `entry` is the entry of a metric in
// /api/v1/metrics; it is undefined for an event.
export function parametersOf(key, entry) {
    return { collector: "cgroup", totals: "cgroup", since: `-${hour}s`, step: `${stepSeconds}s`, sort: key,
             event: entry ? [...new Set(entry.formulas.flatMap((one) => one.events))] : [key],
             derived: entry ? key : null, limit: mostCgroups };
}

// Returns the parameters that request all values of one cgroup, including some derived metrics.
export function parametersOfOne(path, metrics) {
    return { collector: "cgroup", totals: "cgroup", since: `-${hour}s`, step: `${stepSeconds}s`, cgroup: path,
             derived: metrics.join(",") || null };
}

// Returns the values of a document's row in each step, by name: derived metrics, and events per second.
function valuesOf(row, seconds) {
    const values = new Map(Object.entries(row.derived ?? {}));

    for (const [name, counts] of Object.entries(row.events ?? {}))
        if (!values.has(name))
            values.set(name, counts.map((n, i) => typeof n === "number" && seconds[i] > 0 ? n / seconds[i] : null));
    return values;
}

// Returns {span, lines}: the seconds that the lines cover, and the lines by cgroup and name. If several groups of a
// cgroup count the same event, the first known value in each step is used.
export function linesOf(document) {
    const { times = [], seconds = [], rows = [] } = document, end = times.at(-1) ?? 0, lines = new Map();
    const begin = times.find((_, i) => seconds[i] > 0) ?? end, span = Math.min(hour, Math.max(leastSpan, end - begin));

    for (const row of rows.filter((one) => typeof one.cgroup === "string")) {
        if (!lines.has(row.cgroup))
            lines.set(row.cgroup, new Map());
        const own = lines.get(row.cgroup);
        for (const [name, values] of valuesOf(row, seconds)) {
            const line = own.get(name) ?? times.map((time) => ({ x: 1 - (end - time) / span, y: NaN }));
            for (const [i, value] of values.entries())
                if (typeof value === "number" && i < line.length && Number.isNaN(line[i].y))
                    line[i].y = value;
            own.set(name, line);
        }
    }
    return { span, lines };
}

// A source of values for the charts of lines.js: one of the lines that linesOf() returns.
export class Hour {
    constructor() {
        this.take([], leastSpan);
    }

    // Replaces the line. Returns whether the line or its span has changed.
    take(line, span) {
        const isNew = line !== this.line || span !== this.seconds;

        Object.assign(this, { line, seconds: span });
        return isNew;
    }

    span() {
        return this.seconds;
    }

    timeOf(x) {
        return Date.now() / 1000 + x;
    }

    points() {
        return this.line.filter(({ x }) => x >= 0).map(({ x, y }) => ({ x: (x - 1) * this.seconds, y }));
    }

    summary() {
        const known = this.line.filter(({ x, y }) => x >= 0 && Number.isFinite(y)).map(({ y }) => y);

        return { last: known.at(-1) ?? NaN, lowest: Math.min(...known), highest: Math.max(...known), n: known.length };
    }
}

// Returns the title of the column of lines: "last hour", "last 8 min".
export function titleOfSpan(span) {
    return span > hour - leastSpan ? "last hour" : `last ${Math.round(span / 60)} min`;
}

// Converts the History of this tab to a line. `span` is the visible time in seconds.
export function lineOf(history, name, span) {
    return history.points(name).map(({ x, y }) => ({ x: 1 + x / span, y }));
}
