// SPDX-License-Identifier: Apache-2.0
// One recording: a stream of /api/v1/samples that becomes a tree of stacks. Its samples are kept, however it ends.
import { Fault } from "../client.js";
import { readRecords, stackOf } from "../flame/samples.js";
import { StackTree } from "../flame/tree.js";

const graceMs = 20000; // behind the last second, for the names that the daemon still looks up

export class Recording {
    // `request`: the parameters of the API. `isLive`: it goes on until it is stopped.
    constructor(client, request, isLive = false) {
        this.client = client;
        this.isLive = isLive;
        this.request = request;
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

    get elapsed() {
        if (this.end)
            return this.end.seconds;
        return this.begun === null ? 0 : ((this.finished ?? performance.now()) - this.begun) / 1000;
    }

    get left() {
        return Math.max(0, this.seconds - this.elapsed);
    }

    // Never throws: what went wrong is in `fault`.
    async run() {
        const { signal } = this.controller;

        try {
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
            this.ended = true;
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
        if (this.ended || this.cause)
            return;
        this.cause = cause;
        this.controller.abort();
    }

    take(record) {
        switch (record.type) {
        case "header":
            this.header = record;
            this.timer = setTimeout(() => this.stop("late"), record.seconds * 1000 + graceMs);
            break;
        case "sample":
            this.add(stackOf(record));
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

    add(frames) {
        this.samples++;
        this.tree.add(frames);
        this.merged?.add(frames.slice(1));
    }

    // The tree by "process" or "merged". It grows with the recording.
    treeBy(by) {
        if (by !== "merged")
            return this.tree;
        this.merged ??= this.tree.merged();
        return this.merged;
    }

    finish(record) {
        this.end = record;
        this.lost = record.lost ?? this.lost;
        this.dropped = record.dropped ?? this.dropped;
    }
}
