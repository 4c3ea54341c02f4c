// SPDX-License-Identifier: Apache-2.0
// What cgroups did in the last hour, of the document of /api/v1/history. Where the daemon keeps none, the lines are of
// what this tab has seen. A line is [{x, y}]: x is the place in the time that is shown, 0 to 1; y is NaN in a gap.

const hour = 3600, leastSpan = 300, stepSeconds = 30, mostCgroups = 100; // seconds

// The parameters of the request for the busiest cgroups, by a column: a metric, whose entry in /api/v1/metrics this is,
// or an event.
export function parametersOf(key, entry) {
    return { collector: "cgroup", totals: "cgroup", since: `-${hour}s`, step: `${stepSeconds}s`, sort: key,
             event: entry ? [...new Set(entry.formulas.flatMap((one) => one.events))] : [key],
             derived: entry ? key : null, limit: mostCgroups };
}

// All that is known of one cgroup, for the metrics of these names.
export function parametersOfOne(path, metrics) {
    return { collector: "cgroup", totals: "cgroup", since: `-${hour}s`, step: `${stepSeconds}s`, cgroup: path,
             derived: metrics.join(",") || null };
}

// The values of each step of a row of the document, by name: its metrics, and its events per second.
function valuesOf(row, seconds) {
    const values = new Map(Object.entries(row.derived ?? {}));

    for (const [name, counts] of Object.entries(row.events ?? {}))
        if (!values.has(name))
            values.set(name, counts.map((n, i) => typeof n === "number" && seconds[i] > 0 ? n / seconds[i] : null));
    return values;
}

// {span, lines}: the seconds that the lines are of, and the lines by cgroup, then by name. Of several groups of a cgroup
// that count the same, a step has the first that knows it.
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

// One of these lines as a source of lines.js.
export class Hour {
    constructor() {
        this.take([], leastSpan);
    }

    // Returns whether it is another line than before.
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

// What the lines are of: "last hour", "last 8 min".
export function titleOfSpan(span) {
    return span > hour - leastSpan ? "last hour" : `last ${Math.round(span / 60)} min`;
}

// The line of a History of this tab, where `span` seconds are shown.
export function lineOf(history, name, span) {
    return history.points(name).map(({ x, y }) => ({ x: 1 + x / span, y }));
}
