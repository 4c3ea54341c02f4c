// SPDX-License-Identifier: Apache-2.0
// Sources of the overview's records: the daemon's history (Daemon), or a record in memory, from a saved file or from
// this tab (Local). Both classes have the same methods, each for a time range {since, until}.
import { Fault } from "../client.js";
import { Record } from "./record.js";

const mostSteps = 400; // maximum number of steps in a chart; more would not fit on a screen

// Escapes a path so that it matches only itself as a pattern.
const patternOf = (path) => path.replace(/[\\*?[]/g, "\\$&");

// The daemon answers 400 if nothing on this machine counts what was requested, which is not an error for the user.
const refused = (error) => error instanceof Fault && error.status === 400;

export class Daemon {
    constructor(client) {
        this.client = client;
        this.metrics = "";  // names of the available derived metrics, for the parameter derived
        this.interval = 10; // seconds between two readings
    }

    // Requests the values in a time range. With `whole`, the answer has one step for the whole range. Without `whole`,
    // the parameter `until` is omitted, so that the answer extends to the present.
    async ask({ since, until }, { whole = false, signal, ...parameters }) {
        const length = until - since, few = length / this.interval <= mostSteps;
        const step = whole ? `${Math.max(1, length).toFixed(3)}s` : few ? null : `${Math.ceil(length / mostSteps)}s`;

        try {
            const document = await this.client.json("api/v1/history", { signal, parameters: {
                since: since.toFixed(3), until: whole ? until.toFixed(3) : null, step, ...parameters } });
            if (!whole && few)
                this.interval = document.interval;
            return Record.of(document) ?? new Record();
        } catch (error) {
            if (refused(error))
                return new Record();
            throw error;
        }
    }

    // Requests the CPU time of all cgroups, as one step for the whole range.
    usage(range, signal) {
        return this.ask(range, { whole: true, collector: "cgroup", event: "task_clock", totals: "cgroup", limit: 1,
                                 signal });
    }

    // Requests all values of some cgroups, as one step for the whole range.
    async services(range, paths, signal) {
        return paths.length === 0 ? new Record() : this.ask(range, { whole: true, collector: "cgroup",
            cgroup: paths.map(patternOf), totals: "cgroup", limit: 1, derived: this.metrics, signal });
    }

    // Requests the CPU time of some cgroups in each step.
    async lines(range, paths, signal) {
        return paths.length === 0 ? new Record() : this.ask(range, { collector: "cgroup", event: "task_clock",
            cgroup: paths.map(patternOf), totals: "cgroup", limit: 1, signal });
    }

    // Requests the values of the CPU PMUs and of the other PMUs in each step.
    machine(range, collectors, signal) {
        return this.ask(range, { collector: collectors, totals: "pmu", limit: 1, derived: this.metrics, signal });
    }

    // Requests how busy each CPU was, as one step for the whole range.
    cpus(range, signal) {
        return this.ask(range, { whole: true, collector: "cpu", signal });
    }
}

export class Local {
    constructor(record) {
        this.record = record;
    }

    async usage(range) {
        return this.record.between(range);
    }

    services(range) {
        return this.usage(range);
    }

    lines(range) {
        return this.usage(range);
    }

    machine(range) {
        return this.usage(range);
    }

    cpus(range) {
        return this.usage(range);
    }
}
