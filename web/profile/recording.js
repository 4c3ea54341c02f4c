// SPDX-License-Identifier: Apache-2.0
// One recording: a stream of /api/v1/samples that becomes a tree of stacks. Its samples are kept, however it ends.
import { Fault } from "../client.js";
import { readRecords, stacksOf } from "../flame/samples.js";
import { StackTree } from "../flame/tree.js";

const graceMs = 20000; // behind the last second, for the names that the daemon still looks up
const marginS = 5, longestS = 86400; // of requests for the past: the time until they arrive, and more than is ever kept

// The parameters that ask for the samples of the last seconds. What was sampled, and how often, is not chosen any more.
export function pastOf({ cpu, cgroup, pid }, seconds) {
    return { last: String(Math.min(longestS, Math.max(1, Math.ceil(seconds)))), cpu, cgroup, pid };
}

export class Recording {
    // `request`: the parameters of the API. `isLive`: it goes on until it is stopped. With an interval, of the daemon's
    // clock, the recording is of samples that were already taken, as it is where the request has `last`. `beside`: a
    // recording that is made at the same time.
    constructor(client, request, { isLive = false, interval = null, beside = null } = {}) {
        this.client = client;
        this.beside = beside;
        this.isLive = isLive;
        this.interval = interval;
        this.request = interval ? pastOf(request, 0) : request;
        this.tree = new StackTree();
        this.merged = null; // the same without processes, since somebody has asked for it
        this.samples = this.lost = this.dropped = this.throttled = this.broken = 0;
        this.paused = false;
        this.header = this.end = this.fault = null;
        this.cause = null; // of an end before its time: "stopped", "hidden", "left", "late"
        this.ended = false;
        this.begun = this.finished = null; // by performance.now(): a clock that nobody sets
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

    // Of the past: what the daemon has samples of, and the part of it that was asked for; null: there is none.
    get kept() {
        return this.header && { since: this.header.time, until: this.header.time + this.header.seconds };
    }

    get span() {
        const { kept, interval } = this, all = { since: 0, until: Infinity };
        const since = Math.max(kept?.since, (interval ?? all).since);
        const until = Math.min(kept?.until, (interval ?? all).until);

        return until > since ? { since, until } : null;
    }

    // Of which samples it is: the same where the same was asked for.
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

    // The recording to show: if off-CPU time is refused, the on-CPU recording that was started with it.
    get shown() {
        return this.refusal && this.beside?.header ? this.beside : this;
    }

    // Why there is no answer.
    get refusal() {
        return this.header ? null : this.fault;
    }

    // Never throws: what went wrong is in `fault`.
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
                this.fault = new Fault("The answer of the daemon broke off.");
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
        return new Fault("The connection to the daemon broke.");
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

    // The tree by "process" or "merged". It grows with the recording.
    treeBy(by) {
        if (by !== "merged")
            return this.tree;
        this.merged ??= this.tree.merged();
        return this.merged;
    }

    // The parameters that ask for the samples of a chosen interval again, and for those since; null once they are gone.
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
