// SPDX-License-Identifier: Apache-2.0
// Where the records of the overview come from: the history of the daemon, or one record that is here as a whole, as a
// file or what this tab has seen. Both answer the same questions, each about a range of time: {since, until}.
import { Fault } from "../client.js";
import { Record } from "./record.js";

const mostSteps = 400; // of a line; there are no more pixels for them

// A path as a pattern that matches it alone.
const patternOf = (path) => path.replace(/[\\*?[]/g, "\\$&");

// What is counted nowhere here is no fault of the reader's.
const refused = (error) => error instanceof Fault && error.status === 400;

export class Daemon {
    constructor(client) {
        this.client = client;
        this.metrics = "";  // the names of the derived metrics that there are, for `derived`
        this.interval = 10; // seconds between two readings
    }

    // The times as the daemon takes them: a range without an end is one until now.
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

    // The CPU time of all cgroups, each as one number for the whole range.
    usage(range, signal) {
        return this.ask(range, { whole: true, collector: "cgroup", event: "task_clock", totals: "cgroup", limit: 1,
                                 signal });
    }

    // All that is counted of these cgroups, for the whole range.
    async services(range, paths, signal) {
        return paths.length === 0 ? new Record() : this.ask(range, { whole: true, collector: "cgroup",
            cgroup: paths.map(patternOf), totals: "cgroup", limit: 1, derived: this.metrics, signal });
    }

    // The CPU time of these cgroups in each step.
    async lines(range, paths, signal) {
        return paths.length === 0 ? new Record() : this.ask(range, { collector: "cgroup", event: "task_clock",
            cgroup: paths.map(patternOf), totals: "cgroup", limit: 1, signal });
    }

    // What the CPUs and the other PMUs counted in each step.
    machine(range, collectors, signal) {
        return this.ask(range, { collector: collectors, totals: "pmu", limit: 1, derived: this.metrics, signal });
    }

    // How busy each CPU was in the whole range.
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
