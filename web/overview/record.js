// SPDX-License-Identifier: Apache-2.0
// A record contains what was counted in each step of a time range, from documents of /api/v1/history and /api/v1/rates.
// It has a line for each configured group of each PMU and of each cgroup, and the share of time that each CPU was busy.
// Times are from the daemon's clock, in seconds since 1970. A value that is unknown in a step is NaN.

import { cpusOf } from "../numbers.js";

const longestPause = 7; // maximum seconds between two answers; a longer pause is a gap

// Validates a document, which may come from a file of unknown origin.
function isHistory(document) {
    const { times, seconds, rows, totals = [] } = document ?? {};
    const isLine = (line) => typeof line?.collector === "string" && typeof line.events === "object" &&
        line.events !== null && Array.isArray(line.state);

    return [times, seconds, rows, totals].every(Array.isArray) && times.length === seconds.length &&
        [...times, ...seconds].every(Number.isFinite) && [...rows, ...totals].every(isLine);
}

const keyOf = ({ collector, pmu, cgroup, group }) => JSON.stringify([collector, cgroup ? "" : pmu ?? "", cgroup ?? "",
                                                                     group ?? ""]);

// Adds up the rows of a group on one PMU, or of a cgroup on all PMUs. If a value is unknown in one row, the sum is
// unknown; a row that is absent in a step adds nothing. Derived metrics cannot be added up.
function addUp(rows) {
    const sums = new Map();

    for (const row of rows) {
        const key = keyOf(row), first = !sums.has(key);
        const sum = sums.get(key) ?? { ...row, state: [], events: Object.create(null),
            enabled: [], running: [], busy: undefined };
        const add = (to, from) => row.state.forEach((state, i) => {
            if (state !== null)
                to[i] = to[i] === null || typeof from?.[i] !== "number" ? null : (to[i] ?? 0) + from[i];
        });

        sums.set(key, sum);
        for (const [name, values] of Object.entries(row.events))
            add(sum.events[name] ??= [], values);
        add(sum.enabled, row.enabled);
        add(sum.running, row.running);
        if (row.busy)
            add(sum.busy ??= [], row.busy);
        if (!first)
            sum.derived = {};
    }
    return [...sums.values()];
}

const number = (value) => typeof value === "number" ? value : NaN;

// Patterns for derived metrics, with the event in the denominator of their formula. If this event is counted in the
// same group, its counts are the weights for the mean of the metric over several steps, so that the mean equals the
// metric of the summed counts.
const denominators = [[/^(ipc|.*_stall_ratio|topdown_.*)$/, ["cycles"]], [/pki$/, ["instructions"]],
    [/^cpu_frequency_hertz$/, ["busy"]], [/^frequency_hertz$/, ["task_clock"]],
    [/^cache_miss_ratio$/, ["cache_references", "l1d_cache"]], [/^branch_miss_ratio$/, ["branches", "br_retired"]],
    [/^llc_miss_ratio$/, ["llc_loads", "ll_cache_rd"]], [/^l2_miss_ratio$/, ["l2d_cache"]]];

export class Record {
    // Steps that end more than `keep` seconds before the last one are dropped.
    constructor({ keep = Infinity } = {}) {
        this.keep = keep;
        this.ends = [];
        this.seconds = [];       // seconds recorded in each step; 0 for a gap
        // Maps a key to {collector, pmu, cgroup, group, values: Map of name to an array with a slot for each step}.
        this.lines = new Map();
        this.cpus = new Map();   // CPU number → the share of each step in which the CPU was busy
    }

    // Converts a document of /api/v1/history to a record. Returns null for any other document.
    static of(document, options) {
        return isHistory(document) ? new Record(options).take(document) : null;
    }

    // Appends those steps of another record that are newer than the last step of this record.
    append(other) {
        const first = other.ends.findIndex((end) => !(end <= this.until)), at = this.ends.length;

        if (first < 0)
            return this;
        this.ends.push(...other.ends.slice(first));
        this.seconds.push(...other.seconds.slice(first));
        for (const [key, { values, ...line }] of other.lines) {
            if (!this.lines.has(key))
                this.lines.set(key, { ...line, values: new Map() });
            const own = this.lines.get(key).values;
            for (const [name, more] of values) {
                if (!own.has(name))
                    own.set(name, []);
                more.slice(first).forEach((value, i) => (own.get(name)[at + i] = value));
            }
        }
        for (const [cpu, more] of other.cpus)
            more.slice(first).forEach((share, i) => this.takeBusy(cpu, at + i, share));
        return this.settle();
    }

    // Drops the steps that end at or before a time.
    forget(since) {
        return this.settle(since);
    }

    get since() {
        return this.ends.length ? this.ends[0] - this.seconds[0] : NaN;
    }

    get until() {
        return this.ends.length ? this.ends.at(-1) : NaN;
    }

    // Fills an empty record from a document of /api/v1/history.
    take(document) {
        const { times, seconds } = document;
        const rate = (values, i) => seconds[i] > 0 ? number(values?.[i]) / seconds[i] : NaN;

        this.ends = [...times];
        this.seconds = [...seconds];
        for (const row of addUp(document.totals ?? document.rows))
            this.takeLine(row, 0, (put) => times.forEach((_, i) => {
                for (const [name, values] of Object.entries(row.events))
                    put(name, i, rate(values, i));
                for (const [name, values] of Object.entries(row.derived ?? {}))
                    put(name, i, number(values?.[i]));
                put("counted", i, number(row.running?.[i]) / number(row.enabled?.[i]));
                if (row.busy)
                    put("busy", i, rate(row.busy, i));
                if (row.events.cycles && row.events.instructions && !row.derived?.ipc)
                    put("ipc", i, number(row.events.instructions[i]) / number(row.events.cycles[i]));
            }));
        for (const row of document.rows)
            if (row.busy && Number.isInteger(row.cpu))
                times.forEach((_, i) => this.takeBusy(row.cpu, i, rate(row.busy, i)));
        return this.settle();
    }

    // Appends an answer of /api/v1/rates?totals=cgroup as a step that ends at `end`. `busy` maps each CPU to the share
    // of time that it was busy.
    takeRates({ seconds, totals }, end, busy = new Map()) {
        const cpus = (list) => cpusOf(list).filter((cpu) => busy.has(cpu));

        if (end <= this.until)
            return this;
        if (end - seconds - this.until > longestPause) {
            this.ends.push(end - seconds);
            this.seconds.push(0);
        }
        const at = this.ends.length;
        this.ends.push(end);
        this.seconds.push(seconds);
        for (const row of totals)
            this.takeLine(row, at, (put) => {
                for (const [name, value] of Object.entries({ ...row.events, ...row.ratios }))
                    put(name === "running_ratio" ? "counted" : name, 0, number(value));
                if (row.collector === "cpu" && cpus(row.cpus).length)
                    put("busy", 0, cpus(row.cpus).reduce((sum, cpu) => sum + busy.get(cpu), 0));
            });
        for (const [cpu, share] of busy)
            this.takeBusy(cpu, at, share);
        return this.settle();
    }

    takeLine({ collector, pmu, cgroup, group, ...row }, at, fill) {
        const key = keyOf({ collector, pmu, cgroup, group });
        const line = this.lines.get(key) ?? { key, collector, pmu, cgroup, group, values: new Map() };

        this.lines.set(key, line);
        line.cpus = row.cpus ?? line.cpus;
        fill((name, i, value) => {
            if (!line.values.has(name))
                line.values.set(name, []);
            line.values.get(name)[at + i] = value;
        });
    }

    // The rows of all groups have the same busy time for a CPU, so one row is enough.
    takeBusy(cpu, at, share) {
        if (!this.cpus.has(cpu))
            this.cpus.set(cpu, []);
        if (!Number.isNaN(share))
            this.cpus.get(cpu)[at] = Math.min(1, Math.max(0, share));
    }

    arrays() {
        return [...this.cpus.values(), ...[...this.lines.values()].flatMap((line) => [...line.values.values()])];
    }

    // Pads each array to the number of steps, and drops the steps that are too old.
    settle(since = this.until - this.keep) {
        const n = this.ends.length, first = this.ends.findIndex((end) => end > since), old = first < 0 ? n : first;

        for (const values of this.arrays()) {
            for (let i = 0; i < n; i++)
                values[i] ??= NaN;
            values.splice(0, old);
        }
        this.ends.splice(0, old);
        this.seconds.splice(0, old);
        if (old > 0)
            for (const [key, line] of this.lines)
                if ([...line.values.values()].every((values) => values.every(Number.isNaN)))
                    this.lines.delete(key);
        return this;
    }

    // Returns [first, end): the indexes of the steps that lie in a range.
    steps({ since = -Infinity, until = Infinity } = {}) {
        const first = this.find((end) => end > since);

        return [first, Math.max(first, this.find((end) => end > until))];
    }

    // Binary search: returns the first step for whose end `passes` is true, or the number of steps. If `passes` is true
    // for a step, it must be true for all later steps as well.
    find(passes) {
        let low = 0, high = this.ends.length;

        while (low < high) {
            const middle = (low + high) >> 1;
            if (passes(this.ends[middle]))
                high = middle;
            else
                low = middle + 1;
        }
        return low;
    }

    // Returns the step that contains a time, or -1.
    stepAt(time) {
        const at = this.find((end) => end >= time);

        return at < this.ends.length && time > this.ends[at] - Math.max(this.seconds[at], this.gapBefore(at)) ? at : -1;
    }

    // Returns the seconds from the end of the previous step to the end of a step, or the length of the step if there is
    // a gap between the two. A step may be slightly shorter than the time since the previous one.
    gapBefore(at) {
        return at > 0 && this.ends[at] - this.ends[at - 1] < 1.5 * this.seconds[at] ? this.ends[at] - this.ends[at - 1]
            : this.seconds[at];
    }

    // Returns a copy of the steps in a range.
    between(range) {
        const part = new Record(), [first, after] = this.steps(range);

        part.ends = this.ends.slice(first, after);
        part.seconds = this.seconds.slice(first, after);
        for (const [key, line] of this.lines)
            part.lines.set(key, { ...line, values: new Map([...line.values].map(([name, values]) =>
                [name, values.slice(first, after)])) });
        for (const [cpu, values] of this.cpus)
            part.cpus.set(cpu, values.slice(first, after));
        return part;
    }

    // Returns the mean of values over a range, weighted by time and `weights`; NaN if no value is known.
    mean(values, range, weights = null) {
        const [first, after] = this.steps(range);
        let sum = 0, all = 0;

        for (let i = first; values && i < after; i++) {
            const weight = this.seconds[i] * (weights ? weights[i] : 1);
            if (!Number.isNaN(values[i]) && weight > 0) {
                sum += values[i] * weight;
                all += weight;
            }
        }
        return all > 0 ? sum / all : NaN;
    }

    // Returns the mean of an event or metric of a line.
    value(line, name, range) {
        const [, names = []] = denominators.find(([pattern]) => pattern.test(name)) ?? [];
        const weights = names.map((one) => line.values.get(one)).find(Boolean) ?? null;
        const weighted = this.mean(line.values.get(name), range, weights);

        return Number.isNaN(weighted) ? this.mean(line.values.get(name), range) : weighted;
    }

    // Returns the lines that contain `name`, sorted by the share of time that they were counted, largest first.
    having(name, isWanted = () => true) {
        const found = [...this.lines.values()].filter((line) => line.values.has(name) && isWanted(line));
        const share = new Map(found.length > 1 ? found.map((line) => [line, this.mean(line.values.get("counted")) || 0])
            : []);

        return found.sort((a, b) => share.get(b) - share.get(a));
    }

    // Returns the lines of a cgroup.
    of(cgroup) {
        return [...this.lines.values()].filter((line) => line.cgroup === cgroup);
    }

    // Returns a Map from cgroup to the CPUs that it used in each step.
    usage() {
        const found = new Map();

        for (const line of this.having("task_clock", (line) => line.cgroup !== undefined))
            if (!found.has(line.cgroup))
                found.set(line.cgroup, line.values.get("task_clock"));
        return found;
    }

    // Returns how many CPUs of a PMU, or of all PMUs, were busy in each step; null if unknown. A group of the software
    // PMU covers all CPUs.
    busy(pmu = null) {
        const byPmu = new Map(this.having("busy", (line) => line.collector === "cpu").map((line) =>
            [line.pmu, line.values.get("busy")]));

        if (byPmu.has(pmu ?? "software") || byPmu.size === 0 || pmu !== null)
            return byPmu.get(pmu ?? "software") ?? null;
        return this.ends.map((_, i) => [...byPmu.values()].reduce((sum, values) => sum + values[i], 0));
    }
}

// Provides arrays of a record as a source of values for the charts of lines.js.
export class Tracks {
    constructor() {
        this.values = new Map(); // name → an array with a slot for each step
        this.show({ since: 0, until: 1 }, [], null);
    }

    // Sets the time range to show, the ends of the steps, and the selected interval or null.
    show({ since, until }, ends, chosen) {
        this.until = until;
        this.seconds = until - since;
        this.ends = ends;
        this.interval = chosen && chosen.until > since && chosen.since < until
            ? [Math.max(since, chosen.since) - until, Math.min(until, chosen.until) - until] : null;
    }

    span() {
        return this.seconds;
    }

    timeOf(x) {
        return this.until + x;
    }

    points(name) {
        const values = this.values.get(name) ?? [];

        return this.ends.map((end, i) => ({ x: end - this.until, y: values[i] ?? NaN }))
            .filter(({ x }) => x >= -this.seconds);
    }

    summary(name) {
        const known = this.points(name).map(({ y }) => y).filter(Number.isFinite);

        return { last: known.at(-1) ?? NaN, lowest: known.reduce((a, b) => Math.min(a, b), Infinity),
                 highest: known.reduce((a, b) => Math.max(a, b), -Infinity), n: known.length };
    }
}
