// SPDX-License-Identifier: Apache-2.0
// The overview, which is the first view: what the machine is doing and did in the last hour, which services use the
// CPUs, and links to their flame graphs.
import { Age } from "../age.js";
import { Fault } from "../client.js";
import { element, plain, replace, write } from "../element.js";
import { cpuList } from "../health/findings.js";
import { amount, clockOf, cpusOf, duration, timeOf } from "../numbers.js";
import { Poll } from "../poll.js";
import { between, hindsightOf, intervalOf, isWithin } from "../scales.js";
import { Cgroups } from "../services/cgroups.js";
import { Attention, faultsOf, itemsOf } from "./attention.js";
import { StackChart } from "./chart.js";
import { Record, Tracks } from "./record.js";
import { Busiest, Legend, bands, nameOf, swatchOf } from "./services.js";
import { Daemon, Local } from "./source.js";
import { busiest, outermost, stack } from "./stack.js";
import { Cpus, Tiles, changeOf, coresIn, coresOf, tilesOf, usageTile } from "./tiles.js";

const pollMs = 2000, ratesS = 2, firstRatesS = 0.5, patienceMs = 17000;
const emptyMs = 300;                    // time to wait for the first numbers before empty charts are shown
const firstStatusMs = 400;              // idle times have a resolution of 10 ms, so shorter intervals are inaccurate
const rankMs = 60000, learnMs = 60000, findingsMs = 30000, oldMs = 7000;
const spans = { hour: 3600, "5min": 300 };
const isHour = (seconds) => Math.round(seconds / 60) >= 60;
const wordsOf = (seconds) => isHour(seconds) ? "hour" : seconds < 90 ? "minute" : `${Math.round(seconds / 60)} minutes`;
const nowS = { hour: 30, "5min": 6 };   // current values are means over this many seconds, by range
const busyS = { hour: 60, "5min": 10 }; // current values of services are means over this many seconds, by range
const oldestS = 30;                     // a record of this tab is continued if it ended at most this many seconds ago
const leastS = 60;                      // a chart of a new record shows at least this many seconds
const comparedS = 300;                  // seconds in each interval of a comparison with an hour ago
const almostAll = 0.9;                  // a value belongs to a step if it ends in the last 90 % of this step
const rows = 5, settleMs = 200;

// Returns the share of the time that each CPU was busy between two statuses, by CPU number. The time between the
// statuses is taken from the daemon's clock, which is more exact, or from `at`, the browser's clock in ms, if the
// daemon's clock has jumped.
export function usageBetween(before, now) {
    const shares = new Map(), byBrowser = (now.at - before.at) / 1000;
    const byDaemon = now.status.timestamp - before.status.timestamp;
    const seconds = Math.abs(byDaemon - byBrowser) < 0.5 ? byDaemon : byBrowser;
    const idle = new Map((before.status.machine.cpu_idle_seconds ?? []).map((one) => [one.cpu, one.seconds]));

    for (const { cpu, seconds: later } of now.status.machine.cpu_idle_seconds ?? [])
        if (idle.has(cpu) && seconds > 0)
            shares.set(cpu, Math.min(1, Math.max(0, 1 - (later - idle.get(cpu)) / seconds)));
    return shares;
}

// Summarises a finding of the rule clock_limited: "of 2.4 GHz: too hot". The patterns match sentences that the daemon
// writes.
export function limitWords({ text, before }) {
    const causes = [[/A cooling device slows/, "too hot"], [/supply voltage is too low/, "voltage too low"]]
        .filter(([sentence]) => sentence.test(text)).map(([, words]) => words);

    return `${before > 0 ? `of ${amount(before, "Hz")}: ` : ""}${causes.join(", ") || "limited"}`;
}

// Returns a string. The view requests its documents again when this string changes.
function editionOf(status) {
    return JSON.stringify([status.start_time, status.config_last_reload_success_time, status.machine.cpus_online,
                           status.failures.length, status.starved.length]);
}

// Resamples the values of one record at the steps of another one.
function aligned(values, from, to) {
    return from === to ? values : to.ends.map((end) => values[from.stepAt(end)] ?? NaN);
}

class Overview {
    constructor(root, page) {
        // This object survives a change of view: `live` contains the latest rates, `seen` the share of time that each
        // CPU was busy between two statuses.
        const kept = page.kept.get("overview") ?? { live: null, seen: new Record({ keep: spans.hour }) };

        page.kept.set("overview", kept);
        Object.assign(this, this.nothing(), { page, kept, file: null, facts: null, before: null, used: new Map(),
            hasHistory: true, reason: "", pointed: null, cgroups: new Cgroups(), controller: null });
        this.daemon = new Daemon(page.client);
        this.tracks = new Tracks();
        this.read(page.address.parameters);
        this.build(root);
        this.poll = new Poll(page, pollMs, (signal) => this.ask(signal));
    }

    // --- construction

    build(root) {
        const profile = (values) => this.page.address.of("profile", values), point = (time) => this.point(time);
        const byCgroup = (path) => profile({ cgroup: path });

        this.chart = new StackChart({ onPoint: point, onInterval: (interval) => this.choose(interval),
                                      describe: (time) => this.describe(time) });
        this.legend = new Legend(byCgroup);
        this.cpus = new Cpus({ links: (cpu) => profile({ cpu }) });
        this.tiles = new Tiles({ tracks: this.tracks, links: (event) => profile({ event }), onPoint: point });
        this.busiest = new Busiest({ tracks: this.tracks, onPoint: point, links: { profile: byCgroup,
            services: (path) => this.page.address.of("services", { open: path }) } });
        this.attention = new Attention({ profile, health: () => this.page.address.of("health"),
            interval: (chosen, base = null) => this.page.address.of("overview", {
                from: Math.floor(chosen.since), to: Math.ceil(chosen.until),
                with: base && `${Math.floor(base.since)}-${Math.floor(base.until)}` }) });
        this.note = element("p", { class: "note quiet", role: "status" }, "Loading the last hour…");
        this.paused = element("p", { class: "note warn", role: "status", hidden: true });
        this.what = element("small");
        this.hourAgo = element("button", { type: "button", class: "plain", hidden: true, title:
            "Compare the last five minutes with the first five shown", onclick: () =>
            this.compareHour() }, "Compare with an hour ago");
        this.save = element("a", { download: "perfcountd-history.json", hidden: true, title:
            "Save the last hour: the JSON of /api/v1/history" }, "Save");
        this.input = element("input", { type: "file", accept: ".json,application/json", class: "unseen", tabindex: -1,
                                        "aria-label": "A saved hour", onchange: () => this.open(this.input.files[0]) });
        this.opener = element("button", { type: "button", class: "plain", title:
            "Open a saved hour: the JSON of /api/v1/history", onclick: () =>
            this.file ? this.leaveFile() : this.input.click() }, "Open…");
        this.age = new Age(this.page, [this.legend.root, this.chart.root, this.cpus.root, this.tiles.root,
                                       this.busiest.root]);
        this.age.note.classList.add("note");
        const hero = element("section", { class: "card hero", "aria-label": "CPU time" },
            element("div", {}, element("h2", {}, element("span", {}, "CPU time by service"), " ", this.what,
                element("span", { class: "actions" }, this.hourAgo, this.save, this.opener, this.input)),
                this.chart.root),
            this.legend.root);
        replace(root, this.age.note, this.paused, this.note, hero, this.cpus.root, this.tiles.root, this.busiest.root,
                this.attention.root);
        this.buildTools();
        this.showState();
    }

    // Builds the tools in the header: the live indicator, the range buttons and the note about a missing PMU.
    buildTools() {
        const button = (range, text) => element("button", { type: "button", "data-range": range, onclick: () =>
            this.setRange(range) }, text);

        this.live = element("span", { class: "live" }, "");
        this.ranges = element("span", { class: "segments", role: "group", "aria-label": "Range of time" },
                              button("5min", "5 min"), button("hour", "1 hour"));
        this.noPmu = element("span", { class: "quiet", hidden: true }, "no PMU: ",
                             element("a", { href: this.page.address.of("health", { open: "metrics" }),
                                            "aria-label": "Why there is no PMU" }, "why?"));
        replace(this.page.tools, this.live, this.ranges, this.noPmu);
    }

    // --- the state in the URL

    read(parameters) {
        this.range = parameters.get("range") === "5min" ? "5min" : "hour";
        this.chosen = intervalOf(parameters.get("from"), parameters.get("to"));
        this.base = this.chosen && intervalOf(...(parameters.get("with") ?? "").split("-"));
    }

    write() {
        this.page.address.write({ range: this.range === "hour" ? null : this.range, from: this.chosen?.since,
                                  to: this.chosen?.until, with: this.base && `${this.base.since}-${this.base.until}` });
    }

    follow(parameters) {
        const { range } = this;

        this.read(parameters);
        this.showState();
        if (range !== this.range)
            this.restart();
        else
            this.settle();
    }

    showState() {
        for (const button of this.ranges.children) {
            button.setAttribute("aria-pressed", String(button.dataset.range === this.shownRange()));
            button.disabled = this.file !== null || !this.hasHistory && button.dataset.range === "hour";
        }
        this.chart.choose(this.chosen, this.base);
        this.showBubble();
    }

    setRange(range) {
        this.range = range;
        this.chosen = this.base = null;
        this.write();
        this.showState();
        this.restart();
    }

    // If the daemon has no history, only the five minutes that this tab records can be shown.
    shownRange() {
        return this.hasHistory ? this.range : "5min";
    }

    isLive() {
        return this.shownRange() === "5min";
    }

    // While two intervals are compared, dragging selects a new base for the comparison.
    choose(interval) {
        if (this.base && interval)
            this.take(this.chosen, interval);
        else
            this.take(interval, null);
    }

    take(chosen, base) {
        Object.assign(this, { chosen, base });
        this.write();
        this.chart.choose(chosen, base);
        this.showBubble();
        this.settle();
        this.page.say(!chosen ? "No interval is selected." : `Selected: ${this.wordsOf(chosen)}` +
                      `${base ? `, compared with ${this.wordsOf(base)}` : ""}.`);
    }

    // Compares the selected interval with an equally long one before it, or a shorter one if the record begins later.
    // Pressing the button again ends the comparison.
    compare() {
        const { chosen } = this, length = chosen.until - chosen.since, first = Math.floor(this.limits().since);

        this.take(chosen, this.base ? null : between(Math.min(chosen.since - 1, Math.max(first, chosen.since - length)),
                                                     chosen.since));
    }

    // Compares the last five minutes with the first five minutes of the hour.
    compareHour() {
        const { since, until } = this.limits(), length = Math.min(comparedS, Math.floor((until - since) / 2));

        this.take(between(Math.floor(until) - length, Math.floor(until)),
                  between(Math.ceil(since), Math.ceil(since) + length));
    }

    wordsOf({ since, until }) {
        return `${timeOf(since)} to ${timeOf(until)}, ${duration(until - since)}`;
    }

    // Each key press changes the selection, so requests are delayed until it stops changing.
    settle() {
        clearTimeout(this.timer);
        this.timer = setTimeout(() => this.page.visibility.visible && this.summarise(), settleMs);
        this.show();
    }

    showBubble() {
        const { chosen } = this, [first] = this.table?.services ?? [];
        const link = first && !this.file ? [" · ", element("a", { href: this.page.address.of("profile",
            { cgroup: first.path }) }, "Flame graph", element("span", {}, ` of ${first.name.title}`))] : [];

        this.past = element("span", { hidden: true }, " · ", element("a", { href: this.page.address.of("profile",
            { from: chosen?.since, to: chosen?.until }) }, "Flame graph of this interval"));
        const compare = element("button", { type: "button", class: "word", "aria-pressed": String(this.base !== null),
            title: "Compare with the time before; drag to select another", onclick: () => this.compare() }, "Compare");
        const cross = { type: "button", "aria-label": "Clear the interval", onclick: () => this.choose(null) };
        const length = chosen ? duration(chosen.until - chosen.since).replace(/ 0 \w+$/, "") : "";
        replace(this.chart.bubble, chosen
            ? [element("b", {}, length), this.past, ...link, " · ", compare, " ", element("button", cross, "×")]
            : []);
        this.showPast();
    }

    // Shows a link to past samples if the selected interval begins within the daemon's hindsight, i.e. the time for
    // which the daemon keeps samples.
    showPast() {
        const { before, chosen } = this;
        const now = before ? before.status.timestamp + (performance.now() - before.at) / 1000 : Infinity;

        this.past.hidden = !chosen || Boolean(this.file) || !isWithin(chosen, this.facts?.hindsight, now);
    }

    // --- requests

    source() {
        if (this.file)
            return new Local(this.file.record);
        return this.isLive() ? new Local(this.kept.live ?? new Record()) : this.daemon;
    }

    // Discards all data and requests it again.
    restart() {
        Object.assign(this, this.nothing());
        this.poll.resume();
    }

    nothing() {
        return { lines: new Record(), machine: new Record(), table: null, services: [], asked: {} };
    }

    async status(signal) {
        const status = await this.page.edition.status(signal);

        this.age.take();
        return { status, at: performance.now() };
    }

    async ask(signal) {
        const first = this.facts ? null : this.documents(signal);

        if (!this.before || performance.now() - this.before.at > oldMs)
            [this.before] = await Promise.all([this.status(signal), first]);
        const edition = editionOf(this.before.status);
        if (edition !== this.facts?.edition || performance.now() - this.facts.at > learnMs)
            this.learn(edition, await (first ?? this.documents(signal)));
        const answers = Promise.all([this.askFindings(signal), this.askNumbers(signal)]);
        const timer = setTimeout(() => this.stacked || this.show(), emptyMs);
        await answers.finally(() => clearTimeout(timer));
        signal.throwIfAborted();
        this.takeStatus(await this.status(signal));
        if (this.isLive())
            await this.summarise(signal);
        this.show();
    }

    async askNumbers(signal) {
        if (!this.isLive())
            await this.grow(signal).catch((error) => this.withoutHistory(error));
        if (this.isLive())
            await this.askRates(signal);
        else if (this.used.size === 0)
            await new Promise((done) => setTimeout(done, firstStatusMs - (performance.now() - this.before.at)));
    }

    // Handles the error of a request for the history. Status 404 means that the history is disabled; the error text
    // then says how to enable it.
    withoutHistory(error) {
        if (!(error instanceof Fault) || error.status !== 404)
            throw error;
        this.hasHistory = false;
        this.reason = plain(error.reason);
        this.showState();
    }

    takeStatus(now) {
        const used = usageBetween(this.before, now), elapsed = (now.at - this.before.at) / 1000;

        this.used = used.size > 0 ? used : this.used;
        if (this.isLive() && this.rates)
            (this.kept.live ??= new Record({ keep: spans["5min"] })).takeRates(this.rates, now.status.timestamp, used);
        this.rates = null;
        this.before = now;
        const row = { collector: "cpu", pmu: "software", group: "", cpus: now.status.machine.cpus_online, events: {},
                      ratios: {} };
        this.kept.seen.takeRates({ seconds: elapsed, totals: [row] }, now.status.timestamp, used);
    }

    documents(signal) {
        return Promise.all(["metrics", "pmus", "cgroups", "config"].map((name) =>
            this.page.client.json(`api/v1/${name}`, { signal })));
    }

    learn(edition, [metrics, pmus, cgroups, config]) {
        const { status } = this.before, on = status.collectors.filter((one) => one.enabled).map((one) => one.name);
        const online = cpusOf(status.machine.cpus_online);
        this.hasHistory ||= edition !== this.facts?.edition; // a changed configuration may have enabled the history
        const here = metrics.metrics.filter((one) => one.available.length > 0);

        this.cgroups.learn(cgroups);
        this.facts = {
            edition, at: performance.now(), metrics: metrics.metrics, online, n: online.length,
            cores: coresOf(pmus.pmus, online), collectors: on.filter((name) => ["cpu", "pmu"].includes(name)),
            hindsight: hindsightOf(config.sampler), hasCgroups: on.includes("cgroup"),
            hasUsage: here.some(({ name, available }) => name === "cpu_utilization" &&
                available.some((one) => one.collector === "cgroup")),
        };
        this.daemon.metrics = here.map((one) => one.name).join(",");
        this.noPmu.hidden = !this.facts.cores.every((core) => core.absent);
    }

    span(seconds = spans[this.shownRange()]) {
        const until = this.before.status.timestamp;

        return { since: until - seconds, until };
    }

    // Requests the whole hour at first, and later only what is new.
    async grow(signal) {
        const { asked, daemon } = this, now = performance.now(), every = daemon.interval * 1000;

        if (now - asked.grown < every)
            return;
        const range = this.span(), from = (record) => ({ ...range, since: record.until || range.since });
        const lines = async () => this.lines.append(await daemon.lines(from(this.lines), this.wantedLines(), signal));
        const machine = async () => {
            if (this.facts.collectors.length > 0)
                this.machine.append(await daemon.machine(from(this.machine), this.facts.collectors, signal));
            if (!this.stacked)
                this.show(); // show the first numbers at once
        };
        await Promise.all([machine(), now - asked.ranked < rankMs ? lines() : this.rank(range, signal)]);
        for (const record of [this.lines, this.machine])
            record.forget(range.since);
        asked.grown = now;
        this.show();
        await this.summarise(signal);
    }

    // Determines the busiest services of the whole range.
    async rank(range, signal) {
        const usage = await this.usageOf(this.daemon, range, signal);

        this.services = busiest(usage, bands).map(({ path }) => ({ path, ...this.nameOf(path) }));
        this.outer = outermost(usage.keys());
        this.lines = await this.daemon.lines(range, this.wantedLines(), signal);
        this.asked.ranked = performance.now();
        this.show();
    }

    // Returns a Map with the mean CPU usage of each cgroup that ran. The Map is empty if the CPU time of cgroups is not
    // counted.
    async usageOf(source, range, signal) {
        if (source === this.daemon && !this.facts.hasUsage)
            return new Map();
        const record = await source.usage(range, signal), usage = record.usage();

        return new Map([...usage].map(([path, values]) => [path, record.mean(values)])
            .filter(([, cpus]) => cpus > 0));
    }

    wantedLines() {
        const paths = [...this.services, ...this.table?.services ?? []].map((one) => one.path);

        return [...new Set([...paths, ...this.outer ?? []])].sort();
    }

    nameOf(path) {
        return nameOf(path, this.cgroups.identities.get(path));
    }

    async askRates(signal) {
        const live = this.kept.live?.until > this.before.status.timestamp - oldestS;

        if (!live && this.hasHistory)
            await this.seed(signal);
        this.rates = await this.page.client.json("api/v1/rates", { signal, patience: patienceMs, parameters: {
            seconds: live ? ratesS : firstRatesS, totals: "cgroup", limit: 1,
            collector: [...this.facts.collectors, this.facts.hasCgroups ? "cgroup" : null] } });
    }

    // Fills the live record with the last minutes from the daemon's history.
    async seed(signal) {
        const { since, until } = this.span();
        const record = await this.daemon.ask({ since, until }, { totals: "cgroup", limit: 1,
            derived: this.daemon.metrics, signal }).catch((error) => this.withoutHistory(error));

        this.kept.live = new Record({ keep: spans["5min"] });
        if (record)
            this.kept.live.append(record);
        this.show();
    }

    async askFindings(signal) {
        const now = performance.now();

        if (now - this.asked.findings < findingsMs || !this.page.routes.includes("/api/v1/findings"))
            return;
        this.asked.findings = now;
        this.found = itemsOf(await this.page.client.json("api/v1/findings", { signal }));
    }

    // --- the numbers of the selected interval, or the current ones

    limits() {
        const until = Math.max(...[this.lines.until, this.machine.until].filter(Number.isFinite), -Infinity);

        if (this.file)
            return { since: this.file.record.since, until };
        if (!Number.isFinite(until))
            return this.before ? this.span() : { since: 0, until: 1 };
        const first = Math.min(this.lines.since || until, this.machine.since || until);
        return { since: until - Math.min(spans[this.shownRange()], Math.max(leastS, until - first)), until };
    }

    recent(seconds) {
        const { until } = this.limits();

        return { since: until - seconds, until };
    }

    // Requests the busiest services and the usage of each CPU. A result for a past interval is reused.
    async summarise(signal = null) {
        const range = this.chosen ?? (this.file ? this.limits() : this.recent(busyS[this.shownRange()]));
        const key = JSON.stringify([range, this.shownRange(), this.base]), source = this.source(), { base } = this;

        if (!this.facts && !this.file || this.table?.key === key && source === this.daemon)
            return;
        this.controller?.abort();
        this.controller = signal ? null : new AbortController();
        const own = signal ?? this.controller.signal;
        try {
            const usage = await this.usageOf(source, range, own);
            const services = busiest(usage, rows).map(({ path, cpus }) => ({ path, cpus, name: this.nameOf(path) }));
            const missing = services.some(({ path }) => !this.lines.of(path).length);
            const table = { key, services, chosen: this.chosen, base }, paths = services.map((one) => one.path);
            const [record, cpus, compared] = await Promise.all([source.services(range, paths, own),
                this.chosen || this.file ? source.cpus(range, own) : null,
                base && Promise.all([this.usageOf(source, base, own), source.services(base, paths, own)])]);
            Object.assign(table, { record, cpus, compared: compared && { usage: compared[0], record: compared[1] } });
            this.table = table;
            if (source === this.daemon && missing)
                this.lines = await source.lines(this.span(), this.wantedLines(), own);
            this.showBubble();
            this.show();
            if (!signal)
                this.page.fault(null);
        } catch (error) {
            if (signal)
                throw error;
            if (!own.aborted)
                this.page.fault(error.message);
        }
    }

    // --- display

    // Returns the number of CPUs in use at each step: from the kernel's idle times if they are known for every step,
    // otherwise the sum over all counted cgroups. The records of the machine and of the services may have different
    // steps.
    total(record) {
        const busy = this.knownBusy(), usage = this.lines.usage();

        if (busy)
            return record.ends.map((end, i) => this.busyIn(busy, end, record.seconds[i]));
        const outer = outermost(usage.keys()).map((path) => usage.get(path));
        return outer.length === 0 ? null
            : this.lines.ends.map((_, i) => outer.reduce((sum, values) => sum + (values[i] || 0), 0));
    }

    // Returns the value of `busy` for a step of another record, or NaN if the machine's record ends before this step.
    busyIn(busy, end, seconds) {
        const mean = this.machine.mean(busy, { since: end - almostAll * seconds, until: end });

        return Number.isNaN(mean) ? busy[this.machine.stepAt(end)] ?? NaN : mean;
    }

    show() {
        if (this.isLive() && !this.file)
            this.lines = this.machine = this.kept.live ?? new Record();
        if (!this.before || !this.facts && !this.file)
            return;
        if (this.source() !== this.daemon)
            this.rankHere();
        const limits = this.limits();
        this.showChart(limits);
        this.showTiles(limits);
        this.showTable(limits);
        this.showCpus(limits);
        this.showNotes();
        this.showPast();
        this.point(this.pointed);
    }

    // Ranks the services if the whole record is in memory. The ranking is updated rarely, so that each service keeps
    // its place and its colour.
    rankHere() {
        const now = performance.now(), { asked } = this;

        if (this.services.length > 0 && now - asked.ranked < rankMs)
            return;
        const usage = this.lines.usage();
        const found = busiest(new Map([...usage].map(([path, values]) => [path, this.lines.mean(values)])), bands);
        this.services = found.map(({ path }) => ({ path, ...this.nameOf(path) }));
        asked.ranked = this.services.length > 0 ? now : undefined;
    }

    showChart({ since, until }) {
        const all = this.lines.ends.length > 0 ? this.lines : this.machine, totals = this.total(all);
        // Drops the newest step while the machine's total for it is still unknown: the sum of the services would be too
        // low.
        const n = all.ends.length - (totals && Number.isNaN(totals.at(-1)) ? 1 : 0), total = totals?.slice(0, n);
        const record = n < all.ends.length ? all.between({ until: all.ends[n - 1] }) : all;
        const none = record.ends.map(() => NaN), usage = record.usage();
        const stacked = stack(this.services.map(({ path }) => usage.get(path) ?? none), total, record.seconds);
        const places = [...this.services.map((_, i) => i), this.services.length ? -1 : 0];
        const colours = places.map((i) => `--${swatchOf(i)}`);

        this.stacked = { record, ...stacked };
        this.chart.show({ since, until, ends: record.ends, colours, live: !this.file, ...stacked,
                          limit: this.file ? Infinity : this.facts.n });
        write(this.what, this.file ? `CPUs in use, in ${this.file.name}` :
            `CPUs in use, last ${wordsOf(until - since)}; drag to select an interval`);
        this.legend.make(this.services.map(({ path, title }) => ({ path, title })), [this.knownBusy() ? "in use"
            : "by cgroups", ...this.ipcTile ? [this.ipcTile.title] : []]);
    }

    knownBusy() {
        const { machine } = this, busy = machine.busy();

        return busy?.every((value, i) => !Number.isNaN(value) || machine.seconds[i] === 0) ? busy : null;
    }

    // Returns the number of busy CPUs at each step of the tiles, from the history or, if the history lacks it, from
    // what this tab has recorded.
    busy() {
        const { machine } = this, { seen } = this.kept, values = seen.busy();

        return machine.busy() ?? machine.ends.map((end, i) => this.file ? NaN
            : seen.mean(values, { since: end - machine.seconds[i], until: end }));
    }

    // If an interval is selected, a tile shows the mean over this interval, and the mean over the time before it or
    // over the interval that it is compared with. Otherwise, a tile shows the current value and the mean over the whole
    // range.
    showTiles(limits) {
        const { machine, chosen, base } = this, n = this.facts?.n || 1;
        const cores = this.file ? coresIn(machine) : this.facts.cores;
        const [first, rest] = tilesOf(this.facts?.metrics ?? [], cores, machine);
        const range = chosen ?? (this.file ? limits : this.recent(nowS[this.shownRange()]));
        const before = chosen ? { since: limits.since, until: chosen.since } : this.file ? { until: 0 } : limits;

        const shares = chosen || this.file ? [] : [...this.used.values()];
        const used = usageTile(this.busy(), n, shares.length > 0
            ? { range, share: shares.reduce((sum, share) => sum + share, 0) / shares.length } : null);
        this.ipcTile = [...first].reverse().find((tile) => tile.key.startsWith("ipc "));
        this.tracks.show(limits, this.steps().ends, chosen);
        this.tiles.make([[used, ...first], rest]);
        const word = chosen ? "before:" : `${wordsOf(limits.until - limits.since).replace("inutes", "in")}:`;
        this.tiles.show(machine, range, base ?? before, (tile, value, before) => base
            ? [`was ${tile.text(before)}`, changeOf(tile, value, before)].filter(Boolean).join(", ")
            : `${word} ${tile.text(before)}`, (tile) => this.limitOf(tile, range));
    }

    // Returns why a clock rate was limited in a time range, or null.
    limitOf({ name, cpus }, range) {
        const found = name !== "cpu_frequency_hertz" || this.file ? undefined : this.limitedIn(range)
            .find((one) => !cpus || cpusOf(String(one.cpus ?? "")).some((cpu) => cpus.includes(cpu)));

        return found ? limitWords(found) : null;
    }

    limitedIn({ since, until }) {
        return (this.found ?? []).filter((one) => one.rule === "clock_limited" && one.since < until &&
            (one.until ?? Infinity) > since);
    }

    // Returns the record whose steps the charts of the tiles and services use.
    steps() {
        return this.machine.ends.length > 0 ? this.machine : this.lines;
    }

    showTable(limits) {
        const { table } = this, usage = this.lines.usage(), metrics = new Map((this.facts?.metrics ?? []).map((one) =>
            [one.name, one]));
        const record = table?.record ?? new Record(), from = this.lines;

        for (const [path, values] of usage)
            this.tracks.values.set(path, from === this.steps() ? values : aligned(values, from, this.steps()));
        const services = (table?.services ?? []).map((one) => ({ ...one, colour: this.services.findIndex(({ path }) =>
            path === one.path) }));
        this.busiest.show(services, { record, compared: table?.compared ?? null, metrics, when: this.tableWords(),
            span: this.file ? "over time" : `last ${wordsOf(limits.until - limits.since)}`,
            starvedOf: (path, name, lines) => this.starvedOf(path, metrics.get(name), lines) });
        this.busiest.explain(services.length > 0 || !table ? "" : this.absence());
    }

    // Returns why the current value of a cgroup is missing, or null. Starvation in the past is not recorded.
    starvedOf(path, entry, lines) {
        const groups = new Set([...lines.map((line) => line.group),
                                ...(entry?.available ?? []).flatMap((one) => one.groups)]);
        const found = this.table?.chosen || this.file ? undefined : this.before?.status.starved.find((one) =>
            one.cgroup === path && groups.has(one.group));

        return found ? plain(found.cause || "no counter was free for its group") : null;
    }

    tableWords() {
        const { table } = this;

        if (table?.chosen)
            return `in the selected interval, ${timeOf(table.chosen.since)} to ${timeOf(table.chosen.until)}` +
                (table.base ? `, compared with ${timeOf(table.base.since)} to ${timeOf(table.base.until)}` : "");
        return this.file ? "in the whole record" : `in the last ${this.isLive() ? "10 seconds" : "minute"}`;
    }

    absence() {
        if (this.facts && !this.facts.hasCgroups)
            return "Cgroups are not counted: collectors.cgroup.enabled is false in the configuration.";
        if (this.facts && !this.facts.hasUsage && this.cgroups.document.cgroups.length > 0)
            return "The CPU time of cgroups is not known: no group of collectors.cgroup.groups has task-clock. The " +
                "Services view shows what is counted.";
        return this.cgroups.document.cgroups.length > 0 ? "No service used a CPU in that time."
            : "No cgroup matches collectors.cgroup.include.";
    }

    showCpus(limits) {
        const { facts, table, chosen } = this, past = chosen || this.file;
        const range = chosen ?? (this.file ? limits : this.recent(nowS[this.shownRange()]));
        const known = past ? table?.cpus : null, all = [...this.machine.cpus.keys()].sort((a, b) => a - b);
        const cores = this.file ? [{ pmu: null, title: "CPUs", cpus: all }] : facts.cores;
        const seen = past && (known?.cpus.size || this.file ? known : this.kept.seen);
        const busy = past ? new Map([...seen?.cpus ?? []].map(([cpu, values]) => [cpu, seen.mean(values, range)]))
            : this.used;
        const clocks = new Map(cores.map(({ pmu }) => {
            const [line] = this.machine.having("cpu_frequency_hertz", (one) => one.pmu === pmu);
            return [pmu, line ? this.machine.value(line, "cpu_frequency_hertz", range) : NaN];
        }));

        const limited = this.file ? [] : this.limitedIn(range);
        this.cpus.root.hidden = cores.every((core) => core.cpus.length === 0);
        this.cpus.make(cores, cores.map(({ cpus }) => cpuList(cpus)));
        this.cpus.show(busy, new Set(this.file ? cores[0].cpus : facts.online), clocks,
                       new Set(limited.flatMap((one) => cpusOf(String(one.cpus ?? "")))));
    }

    showNotes() {
        const { file } = this, status = this.before?.status;
        const left = status?.paused ? status.paused_until - status.timestamp : 0;

        this.paused.hidden = !status?.paused || Boolean(file);
        write(this.paused, status?.paused ? `Counting is paused until ${timeOf(Date.now() / 1000 + left)}: for ` +
              `${duration(left)} more no events are counted.` : "");
        write(this.note, file || this.hasHistory ? "" :
              `The last hour is not available: ${this.reason}. Charts show what this tab has recorded.`);
        this.note.hidden = this.note.textContent === "";
        write(this.live, file ? "saved" : status?.paused ? "paused" : "live");
        this.live.className = file ? "live saved" : status?.paused ? "live warn" : "live";
        this.save.hidden = Boolean(file) || !this.hasHistory;
        const { since, until } = this.limits();
        this.hourAgo.hidden = Boolean(file) || this.isLive() || until - since < 2 * comparedS;
        write(this.hourAgo, `Compare with ${isHour(until - since) ? "an hour" : duration(until - since)
            .replace(/ \d+ s$/, "")} ago`);
        this.save.href = this.page.client.url("api/v1/history", { since: "-1h", totals: "cgroup",
                                                                 derived: this.daemon.metrics });
        if (status)
            this.attention.show(file ? [] : this.found ?? faultsOf(status), status.timestamp);
        this.attention.root.hidden = Boolean(file);
        write(this.opener, file ? "Close" : "Open…");
    }

    // --- the time under the pointer

    point(time) {
        this.pointed = time;
        this.chart.markAt(time);
        this.tiles.markAt(time);
        this.busiest.markAt(time);
        this.showLegend(time);
    }

    // Returns the values of the bands at a time. If the time is null, returns their means over the selected interval or
    // over the latest steps.
    valuesAt(time) {
        const { record, bands: all, sums } = this.stacked, at = time === null ? -1 : record.stepAt(time);
        const range = this.chosen ?? (this.file ? {} : this.recent(nowS[this.shownRange()]));
        const of = (values) => time === null ? record.mean(values, range) : values[at] ?? NaN;

        return { values: all.map(of), sum: of(sums), end: record.ends[at], range, known: time === null || at >= 0 };
    }

    showLegend(time) {
        if (!this.stacked)
            return;
        const { values, sum, end, range } = this.valuesAt(time), { machine, ipcTile } = this;
        const [when, what] = time !== null ? [timeOf(end ?? time), "under the pointer"]
            : this.chosen ? [`${clockOf(range.since)} – ${clockOf(range.until)}`, "mean"]
            : [this.file ? "All" : "Now", ""];
        const at = time === null ? -1 : machine.stepAt(time);
        const ipc = ipcTile && (time === null ? ipcTile.value(machine, range) : ipcTile.values(machine)[at]);

        this.legend.show(when, what, values, [`${Number.isFinite(sum) ? sum.toFixed(2) : "–"}` +
            `${this.file ? "" : ` of ${this.facts.n}`}`, Number.isFinite(ipc) ? ipcTile.text(ipc) : "–"]);
    }

    // Describes a moment for screen readers.
    describe(time) {
        const { values, sum } = this.valuesAt(time);
        const parts = this.services.map(({ title }, i) => `${title} ${values[i].toFixed(2)}`);

        return `${timeOf(time)}: ${sum.toFixed(2)} CPUs in use; ${parts.join(", ")}`;
    }

    // --- saved files

    async open(file) {
        this.input.value = "";
        if (!file)
            return;
        let record = null;
        try {
            record = Record.of(JSON.parse(await file.text()));
        } catch {
            // the file is not JSON: the error is reported below
        }
        if (!record || record.ends.length === 0) {
            this.page.fault(`${plain(file.name).slice(0, 100)} is not a document of /api/v1/history with steps.`);
            return;
        }
        this.page.fault(null);
        this.poll.close();
        this.age.take();
        this.age.close(); // the age of a saved file is not shown
        this.file = { record, name: plain(file.name).slice(0, 60) };
        Object.assign(this, this.nothing(), { lines: record, machine: record, chosen: null, base: null });
        this.write();
        this.showState();
        this.show();
        await this.summarise();
    }

    leaveFile() {
        this.file = this.chosen = this.base = null;
        this.write();
        Object.assign(this, this.nothing());
        this.showState();
        this.age.tick();
        this.poll = new Poll(this.page, pollMs, (signal) => this.ask(signal));
    }

    close() {
        this.poll.close();
        this.age.close();
        this.controller?.abort();
        clearTimeout(this.timer);
        this.chart.close();
        this.tiles.close();
        this.busiest.close();
        replace(this.page.tools);
    }
}

export function open(root, page) {
    return new Overview(root, page);
}
