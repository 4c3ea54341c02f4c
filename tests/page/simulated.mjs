// SPDX-License-Identifier: Apache-2.0
// Simulates the API of a daemon on another machine: a board with two kinds of core, services and findings. The page
// itself comes from the daemon under test.

const step = 10;
const arm = ["armv8_cortex_a55", "armv8_cortex_a76"];
const entry = (name, unit, collector = "cpu") => ({ name, unit, help: `${name}.`, collectors: [collector, "cgroup"],
    formulas: [], absent: [], available: [{ collector, pmu: arm[0], groups: ["overview"], formula: "a / b" }] });
const metrics = [entry("ipc", "ratio"), entry("cpu_frequency_hertz", "hertz"), entry("backend_stall_ratio", "ratio"),
    entry("l2_mpki", "per 1000 instructions"), entry("cpu_utilization", "cpus", "cgroup"),
    entry("memory_bytes_per_second", "bytes per second", "pmu"), entry("platform_watts", "watts", "pmu"),
    entry("branch_miss_ratio", "ratio")];

// Returns a slowly changing factor between 0.7 and 1.3.
const wave = (time, phase) => 1 + 0.2 * Math.sin(time / 400 + phase) + 0.1 * Math.sin(time / 37 + phase * 7);

export class SimulatedBoard {
    // `services`: {path: [number of CPUs in use, names]}. `n`: number of CPUs; the second half of them are fast cores.
    // `busyFrom`, `busyFor`: how many seconds before now the busy phase begins, and how many seconds it lasts; in that
    // phase the first service uses one more CPU and the fast cores are slower. `hindsight`: for how many seconds
    // samples are kept. `late`: whether the history of the CPUs lacks the newest step.
    constructor({ services, n = 8, busyFrom = 1500, busyFor = 300, findings = [], starved = [], late = false,
                  hindsight = 0, start = Date.now() / 1000 } = {}) {
        Object.assign(this, { services, n, findings, starved, late, hindsight, start, busyFrom, busyFor,
                              began: Date.now() / 1000 });
        this.names = Object.keys(services);
        this.places = new Map(this.names.map((path, i) => [path, i]));
        this.sums = new Map(); // time → CPUs in use
        this.cpus = Array.from({ length: n }, (_, cpu) => cpu);
        this.kinds = [[arm[0], this.cpus.slice(0, n / 2)], [arm[1], this.cpus.slice(n / 2)]];
    }

    get now() {
        return this.start + Date.now() / 1000 - this.began;
    }

    isBusy(time) {
        return time > this.start - this.busyFrom && time < this.start - this.busyFrom + this.busyFor;
    }

    // Returns how many CPUs a cgroup uses at the given time.
    usage(path, time) {
        const k = this.places.get(path);

        if (k === undefined)
            return this.names.filter((one) => one.startsWith(`${path}/`))
                .reduce((sum, one) => sum + this.usage(one, time), 0);
        return this.services[path][0] * wave(time, k) + (k === 0 && this.isBusy(time) ? 1 : 0);
    }

    paths() {
        const slices = this.names.map((path) => path.replace(/\/[^/]*$/, "")).filter((path) => path !== "");

        return [...new Set([...slices, ...this.names])];
    }

    range(kind) {
        const [, cpus] = this.kinds[kind];

        return cpus.length > 1 ? `${cpus[0]}-${cpus.at(-1)}` : `${cpus[0]}`;
    }

    steps({ since, until, step: wanted }) {
        const from = Math.max(Number(since ?? 0), this.start - 3600);
        const to = Math.min(Number(until ?? Infinity), this.now), ends = [];

        for (let end = Math.ceil((from + 1) / step) * step; end <= to; end += step)
            ends.push(end);
        return wanted && parseFloat(wanted) >= to - from - 1 ? [{ ends }] : ends.map((end) => ({ ends: [end] }));
    }

    // Returns a row of the history. `events` and `derived` contain functions of time: the rate of each event, and the
    // value of each metric.
    line(facts, steps, { events, derived = {}, busy }) {
        const sum = (rate) => steps.map(({ ends }) => ends.reduce((all, end) => all + step * rate(end), 0));
        const mean = (value) => steps.map(({ ends }) => ends.reduce((all, end) => all + value(end), 0) / ends.length);
        const map = (object, f) => Object.fromEntries(Object.entries(object).map(([name, one]) => [name, f(one)]));

        return { ...facts, state: steps.map(() => "counting"), enabled: sum(() => 1), running: sum(() => 1),
                 ...busy ? { busy: sum(busy) } : {}, events: map(events, sum), derived: map(derived, mean) };
    }

    used(time) {
        if (!this.sums.has(time))
            this.sums.set(time, Math.min(this.n, this.names.reduce((sum, path) => sum + this.usage(path, time), 0.2)));
        return this.sums.get(time);
    }

    busy(cpu, time) {
        const share = this.used(time) / this.n * (cpu < this.n / 2 ? 0.6 : 1.4) * wave(time, cpu * 3);

        return Math.min(0.99, share);
    }

    core(kind, cpus) {
        const slow = (time) => this.isBusy(time) ? 0.5 : 1, base = kind ? [2.4e9, 0.91] : [1.8e9, 0.6];
        const busy = (time) => cpus.reduce((sum, cpu) => sum + this.busy(cpu, time), 0);

        return { busy, events: { cycles: (time) => busy(time) * base[0], instructions: (time) => busy(time) * base[0] *
            base[1] * slow(time) }, derived: { ipc: (time) => base[1] * slow(time) * wave(time, kind),
                cpu_frequency_hertz: (time) => base[0] * (kind ? 0.2 + 0.8 * slow(time) : 1),
                backend_stall_ratio: (time) => 0.31 / slow(time) * wave(time, 5), l2_mpki: (time) => 7.9 / slow(time),
                branch_miss_ratio: () => 0.02 } };
    }

    machineLines(steps, collectors) {
        const lines = [];

        if (collectors.includes("cpu")) {
            for (const [kind, [pmu, cpus]] of this.kinds.entries())
                lines.push(this.line({ collector: "cpu", pmu, group: "overview" }, steps, this.core(kind, cpus)));
            lines.push(this.line({ collector: "cpu", pmu: "software", group: "software" }, steps, { events: {
                context_switches: (time) => 4600 * wave(time, 1), minor_faults: (time) => 310 * wave(time, 2) } }));
        }
        if (collectors.includes("pmu"))
            lines.push(this.line({ collector: "pmu", pmu: "rockchip_ddr", group: "memory" }, steps, {
                events: {}, derived: { memory_bytes_per_second: (time) => 9.7e9 * wave(time, 3),
                                       platform_watts: (time) => 11.8 * wave(time, 4) } }));
        return lines;
    }

    cgroupLines(steps, patterns, events) {
        const wanted = patterns.map((pattern) => pattern.replace(/\\(.)/g, "$1"));
        const all = this.paths().filter((path) => wanted.length === 0 || wanted.includes(path));

        return all.map((cgroup) => this.line({ collector: "cgroup", cgroup, group: "core" }, steps, events
            ? { events: { task_clock: (time) => this.usage(cgroup, time) } }
            : { events: { task_clock: (time) => this.usage(cgroup, time),
                          cycles: (time) => 2e9 * this.usage(cgroup, time),
                          instructions: (time) => 1e9 * this.usage(cgroup, time) },
                derived: this.starved.some((one) => one.cgroup === cgroup)
                    ? { ipc: () => NaN, backend_stall_ratio: () => NaN, l2_mpki: () => NaN } // NaN is null in JSON
                    : { ipc: (time) => this.isBusy(time) ? 0.41 : 0.92, backend_stall_ratio: () => 0.3,
                        l2_mpki: () => 6 } }));
    }

    history(parameters) {
        const all = (name) => parameters.getAll(name), steps = this.steps(Object.fromEntries(parameters));
        const collectors = all("collector").length ? all("collector") : ["cpu", "pmu", "cgroup"];
        if (this.late && !collectors.includes("cgroup"))
            steps.pop();
        const perCpu = collectors.includes("cpu") && !parameters.has("limit") ? this.cpus.map((cpu) => this.line({
            collector: "cpu", cpu, pmu: arm[cpu < this.n / 2 ? 0 : 1], group: "overview" }, steps,
            this.core(cpu < this.n / 2 ? 0 : 1, [cpu]))) : [];
        const totals = [...this.machineLines(steps, collectors), ...collectors.includes("cgroup")
            ? this.cgroupLines(steps, all("cgroup"), parameters.has("event")) : []];

        return { interval: step, times: steps.map(({ ends }) => ends.at(-1)), seconds: steps.map(({ ends }) =>
            step * ends.length), left_out: steps.map(() => 0), rows: perCpu, others: [], totals };
    }

    rates() {
        const steps = [{ ends: [this.now] }], events = (line) => Object.fromEntries(Object.entries(line.events).map(
            ([name, [value]]) => [name, value / step]));
        const ratios = (line) => Object.fromEntries(Object.entries(line.derived).map(
            ([name, [value]]) => [name, value]));
        const totals = [...this.machineLines(steps, ["cpu", "pmu"]), ...this.cgroupLines(steps, [])];

        return { seconds: 2, rates: [], totals: totals.map((line) => ({ ...line, cpus: `0-${this.n - 1}`,
            events: events(line), ratios: { ...ratios(line), running_ratio: 1 } })) };
    }

    status() {
        const idle = this.cpus.map((cpu) => ({ cpu, seconds: (this.now - this.start) *
            (1 - this.busy(cpu, this.start)) }));

        return { version: "0.0.0-board", timestamp: this.now, start_time: this.start - 9e5, paused: false,
                 failures: [], starved: this.starved, config_last_reload_success_time: this.start - 9e5,
                 config_last_reload_successful: true,
                 collectors: ["cpu", "pmu", "cgroup"].map((name) =>
                     ({ name, enabled: true, success: true, error: "" })),
                 processes: [{ process: "daemon", pid: 7, cpu_seconds: 270, resident_bytes: 8.9e6,
                               start_time: this.start - 9e5 }],
                 descriptors: { needed: 1, counters: 2, limit: 3 }, opener: { state: "running", capabilities: [] },
                 machine: { hostname: "opi5-07", model: "Orange Pi 5", soc: "rockchip,rk3588s", kernel: "5.10.110",
                            uptime_seconds: 12.4 * 86400, cpus_online: `0-${this.n - 1}`,
                            cpus_possible: `0-${this.n - 1}`, cpu_idle_seconds: idle } };
    }

    // Returns the document for a path, or null.
    answer(path, parameters) {
        switch (path) {
        case "/api/v1/status": return this.status();
        case "/api/v1/config": return this.hindsight > 0
            ? { sampler: { enabled: true, hindsight: { enabled: true, seconds: this.hindsight } } } : null;
        case "/api/v1/metrics": return { metrics };
        case "/api/v1/pmus": return { pmus: this.kinds.map(([name], i) => ({ name, scope: "core", absent: false,
                                                                            cpus: this.range(i) })) };
        case "/api/v1/cgroups": return { cgroups: this.paths().map((cgroup) => ({ cgroup, state: "watched",
            name: cgroup.slice(cgroup.lastIndexOf("/") + 1), ...this.services[cgroup]?.[1] })) };
        case "/api/v1/history": return this.history(parameters);
        case "/api/v1/rates": return this.rates();
        case "/api/v1/findings": return { time: this.now, findings: this.findings };
        default: return null;
        }
    }

    // Redirects a tab's requests to this simulated machine.
    async attach(tab) {
        const url = tab.session.url, headers = { "Content-Security-Policy": "default-src 'none'; script-src 'self'; " +
            "style-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'" };
        const page = (await (await fetch(`${url}/`, { headers: { Accept: "text/html" } })).text())
            .replace("</dl>", "<dt>/api/v1/findings</dt></dl>");

        await tab.page.setRequestInterception(true);
        tab.page.on("request", (request) => {
            const { pathname, searchParams } = new URL(request.url()), answer = this.answer(pathname, searchParams);
            if (pathname === "/")
                request.respond({ contentType: "text/html", headers, body: page });
            else if (answer)
                request.respond({ contentType: "application/json", body: JSON.stringify(answer) });
            else
                request.continue();
        });
    }
}
