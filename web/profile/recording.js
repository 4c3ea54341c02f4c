// SPDX-License-Identifier: Apache-2.0
// A recording turns a stream of /api/v1/samples into a tree of stacks. Samples that have arrived are kept, no matter
// how the stream ends.
import { Fault } from "../client.js";
import { readRecords, stacksOf } from "../flame/samples.js";
import { StackTree } from "../flame/tree.js";

const graceMs = 20000; // time after the end for which the daemon may still resolve symbols
// marginS: added to a request for past samples, for the time until the request arrives. longestS: longest time that can
// be requested.
const marginS = 5, longestS = 86400;

// Returns the parameters that request the samples of the last `seconds`. The event and the rate of past samples cannot
// be selected.
export function pastOf({ cpu, cgroup, pid }, seconds) {
    return { last: String(Math.min(longestS, Math.max(1, Math.ceil(seconds)))), cpu, cgroup, pid };
}

export class Recording {
    // `request`: the parameters of the request for samples. `isLive`: the recording continues until it is stopped. With
    // `interval`, which is in the daemon's time, or with `last` in the request, past samples are requested. `beside`: a
    // recording made at the same time.
    constructor(client, request, { isLive = false, interval = null, beside = null } = {}) {
        this.client = client;
        this.beside = beside;
        this.isLive = isLive;
        this.interval = interval;
        this.request = interval ? pastOf(request, 0) : request;
        this.tree = new StackTree();
        this.merged = null; // the same tree without frames of processes, created when first needed
        this.samples = this.lost = this.dropped = this.throttled = this.broken = 0;
        this.paused = false;
        this.header = this.end = this.fault = null;
        this.cause = null; // why the recording ended early: stopped, hidden, left or late
        this.ended = false;
        this.begun = this.finished = null; // performance.now(), which is monotonic
        this.controller = new AbortController();
    }

    get event() {
        return this.header?.event ?? this.request.event;
    }

    get seconds() {
        return this.header?.seconds ?? Number(this.request.seconds);
    }

    get isPast() {
        return this.request.last !== undefined;
    }

    // For past samples, `kept` is the time range for which the daemon has samples, or null if unknown; `span` is the
    // requested part of this range, or null if empty.
    get kept() {
        return this.header && { since: this.header.time, until: this.header.time + this.header.seconds };
    }

    get span() {
        const { kept, interval } = this, all = { since: 0, until: Infinity };
        const since = Math.max(kept?.since, (interval ?? all).since);
        const until = Math.min(kept?.until, (interval ?? all).until);

        return until > since ? { since, until } : null;
    }

    // Identifies the past samples of a request: equal requests have equal subjects.
    get subject() {
        const { cpu, cgroup, pid } = this.request;

        return [this.interval?.since, this.interval?.until, cpu, cgroup, pid].join();
    }

    get elapsed() {
        if (this.end)
            return this.isPast ? (this.span ? this.span.until - this.span.since : 0) : this.end.seconds;
        return this.begun === null ? 0 : ((this.finished ?? performance.now()) - this.begun) / 1000;
    }

    get left() {
        return Math.max(0, this.seconds - this.elapsed);
    }

    // Returns the recording to show. If the daemon refuses to record off-CPU time, this is the on-CPU recording that
    // was started at the same time.
    get shown() {
        return this.refusal && this.beside?.header ? this.beside : this;
    }

    // If not even the first line of the recording has arrived, returns its error, otherwise null.
    get refusal() {
        return this.header ? null : this.fault;
    }

    // Never throws an exception; an error is stored in `fault`.
    async run() {
        await Promise.all([this.read(), this.beside?.run()]);
        this.ended = true;
    }

    async read() {
        const { signal } = this.controller;

        try {
            if (this.interval) {
                const { timestamp } = await this.client.json("api/v1/status", { signal });
                this.request = pastOf(this.request, timestamp - this.interval.since + marginS);
            }
            const response = await this.client.ask("GET", "api/v1/samples", { parameters: this.request, signal });
            this.begun = performance.now();
            const read = await readRecords(response, (record) => this.take(record), signal);
            this.broken = read.broken + read.long;
            if (!this.end && !this.cause)
                this.fault = new Fault("The daemon's answer was cut off.");
        } catch (error) {
            if (!this.cause)
                this.fault = this.faultOf(error);
        } finally {
            clearTimeout(this.timer);
            this.finished = performance.now();
        }
    }

    faultOf(error) {
        if (error instanceof Fault)
            return error;
        if (this.begun === null)
            console.error(error);
        return new Fault("The connection to the daemon was lost.");
    }

    stop(cause) {
        this.beside?.stop(cause);
        if (this.finished !== null || this.cause)
            return;
        this.cause = cause;
        this.controller.abort();
    }

    take(record) {
        switch (record.type) {
        case "header":
            this.header = record;
            if (record.threshold_ns !== undefined)
                this.tree = new StackTree({ isTime: true });
            this.timer = setTimeout(() => this.stop("late"), record.seconds * 1000 + graceMs);
            break;
        case "sample":
            if (!this.interval || record.time >= this.interval.since && record.time <= this.interval.until)
                this.add(record);
            break;
        case "lost":
        case "lost_samples":
            this.lost += record.lost ?? 0;
            break;
        case "dropped":
            this.dropped += record.dropped ?? 0;
            break;
        case "throttle":
            this.throttled++;
            break;
        case "pause":
        case "resume":
            this.paused = record.type === "pause";
            break;
        case "end":
            this.finish(record);
        }
    }

    add(sample) {
        this.samples++;
        for (const [frames, weight] of stacksOf(sample)) {
            this.tree.add(frames, weight);
            this.merged?.add(frames.filter(({ kind }) => kind !== "process"), weight);
        }
    }

    // Returns the tree with the stacks by process, or the merged tree if `by` is "merged". The tree grows during the
    // recording.
    treeBy(by) {
        if (by !== "merged")
            return this.tree;
        this.merged ??= this.tree.merged();
        return this.merged;
    }

    // Returns the parameters that request the samples of the interval again, together with later samples. Returns null
    // once the daemon has dropped these samples.
    again(hindsight) {
        const { span, kept } = this;
        const last = span && kept.until - span.since + (performance.now() - this.begun) / 1000;

        return this.interval && span && last <= hindsight ? pastOf(this.request, last + 1) : null;
    }

    finish(record) {
        this.end = record;
        this.lost = record.lost ?? this.lost;
        this.dropped = record.dropped ?? this.dropped;
    }
}
