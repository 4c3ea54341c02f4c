// SPDX-License-Identifier: Apache-2.0
// Tests recordings of correct and incorrect streams from a test server, and the sentences about them.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import test, { after, before } from "node:test";
import { Client } from "../../../web/client.js";
import { folded, svg } from "../../../web/flame/export.js";
import { weight } from "../../../web/flame/tip.js";
import { difference, isSure } from "../../../web/flame/tree.js";
import { culprit } from "../../../web/profile/form.js";
import { choices, find, gather, isClock, proposedPeriod } from "../../../web/profile/picker.js";
import { rows } from "../../../web/profile/panel.js";
import { ratesOf } from "../../../web/profile/profile.js";
import { covered, notes, progress, remedy, summary } from "../../../web/profile/notes.js";
import { eventually } from "../daemon.mjs";
import { Recording, pastOf } from "../../../web/profile/recording.js";
import { parametersOf, stateOf } from "../../../web/profile/toolbar.js";

let server, client, send, asked; // send(response, write) answers the test's requests; asked: requested paths
// The daemon's current time, in seconds.
const now = 2000;
const header = { type: "header", event: "cycles", frequency: 99, seconds: 1 };
const end = { type: "end", reason: "seconds", lost: 0, dropped: 0, seconds: 1, awaiting_symbols: 0, notes: [] };
const sample = (symbol) => ({ type: "sample", comm: "p", pid: 1, callchain: [{ symbol, module: "/bin/p" }] });

before(async () => {
    server = createServer((request, response) => {
        asked.push(request.url);
        if (request.url === "/api/v1/status") {
            response.end(JSON.stringify({ timestamp: now }));
            return;
        }
        response.writeHead(200, { "Content-Type": "application/x-ndjson" });
        send(response, (...records) => response.write(records.map((one) => `${JSON.stringify(one)}\n`).join("")));
    });
    await new Promise((done) => server.listen(0, "127.0.0.1", done));
    client = new Client(`http://127.0.0.1:${server.address().port}/`);
});
after(() => {
    server.closeAllConnections();
    server.close();
});

const sampled = (recording) => eventually("a sample", () => recording.samples > 0);

async function recorded(how, during = () => {}, recording = new Recording(client, { seconds: "1" })) {
    send = how;
    asked = [];
    const run = recording.run();
    await during(recording);
    await run;
    return recording;
}

test("a complete stream is recorded", async () => {
    const one = await recorded((response, write) => {
        write(header, sample("f"), { type: "lost", lost: 3 }, { type: "throttle" }, sample("g"), { ...end, lost: 3 });
        response.end();
    });

    assert.deepEqual([one.samples, one.tree.total, one.treeBy("merged").depth, one.fault], [2, 2, 1, null]);
    assert.equal(summary(one), "cycles at 99 Hz, 1 s, 2 samples");
    assert.deepEqual(notes(one).map((text) => text.split(/[.,]/)[0]),
                     ["The kernel lost 3 records", "The kernel throttled sampling 1 time"]);
});

test("the merged tree grows during the recording", () => {
    const one = new Recording(client, {});

    one.take(sample("f"));
    const merged = one.treeBy("merged");
    one.take(sample("g"));
    assert.deepEqual([merged.total, one.treeBy("process").total], [2, 2]);
});

test("a broken connection keeps the samples that arrived", async () => {
    let broken;
    const one = await recorded((response, write) => {
        broken = response;
        write(header, sample("f"));
    }, async (recording) => {
        await sampled(recording);
        broken.destroy();
    });

    assert.equal(one.tree.total, 1);
    assert.match(notes(one)[0], /cut off.*The samples until then, 0 s, are kept\./);
});

test("a stopped recording keeps the samples that arrived", async () => {
    const one = await recorded((response, write) => write(header, sample("f")), async (recording) => {
        await sampled(recording);
        assert.match(progress(recording), /^1 s left, 1 sample, 0 lost, 0 dropped, throttled 0 times\.$/);
        recording.stop("hidden");
    });

    assert.deepEqual([one.tree.total, one.fault], [1, null]);
    assert.match(notes(one)[0], /when this tab was hidden/);
});

test("broken lines, hostile names and a clock in 1970 do no harm", async () => {
    const one = await recorded((response, write) => {
        write(header, { ...sample("<img src=x onerror=alert(1)>\u202e"), time: -1e9 });
        response.write("{\"type\":\n[1]\n");
        write({ ...end, reason: "max", notes: ["a note"] });
        response.end();
    });

    assert.deepEqual([one.tree.total, one.broken], [1, 2]);
    assert.deepEqual(notes(one), ["The daemon ended it after 1 s: max.",
                                  "2 lines of the answer could not be read and are left out.", "A note."]);
});

// --- off-CPU time

const waits = { type: "header", event: "off-cpu", threshold_ns: 1e6, seconds: 1 };
const wait = (state, ms, runnable = 0) => ({ ...sample("f"), off_cpu_ns: ms * 1e6, state, runnable_ns: runnable * 1e6 });
const waited = [wait("sleeping", 20, 5), wait("sleeping", 10), wait("runnable", 1.5, 1.5)];
const waitsEnd = { ...end, brief: 1234, brief_ns: 25e7, missed: 2 };
const statesOf = ({ root }) => [...root.children.values()].map(({ name, total }) => [name, total / 1e6]);

test("off-CPU time is weighted by duration and grouped by state; time after the wakeup is runnable", async () => {
    const one = await recorded((response, write) => {
        write(waits, ...waited, waitsEnd);
        response.end();
    }, () => {}, new Recording(client, { event: "off-cpu", state: "blocked", cgroup: "/a" }));
    const { tree } = one, merged = one.treeBy("merged");

    assert.deepEqual([one.samples, tree.total, tree.isTime, merged.isTime], [3, 315e5, true, true]);
    assert.deepEqual([statesOf(tree), statesOf(merged)], Array(2).fill([["sleeping", 25], ["runnable", 6.5]]));
    assert.equal(folded(tree), "runnable;p;f 6500\nsleeping;p;f 25000\n");
    assert.equal(folded(merged), "runnable;f 6500\nsleeping;f 25000\n");
    assert.match(svg(tree), /<title>sleeping: 25\.0 ms, 79\.37 %</);
    assert.equal(weight(tree.root, true), "31.5 ms");
    assert.equal(summary(one), "off-cpu of 1 ms and more, 1 s, 3 waits, 31.5 ms in total, blocked, /a");
    assert.deepEqual(notes(one), ["Waits shorter than 1 ms are left out: 1,234 on the whole machine, 250 ms in total.",
                                  "Waits whose stack the kernel could not record are left out: 2 on the whole "
                                      + "machine."]);
});

test("a wait is attributed to its user function; a few long waits have a larger error than many short ones", () => {
    const frames = (name) => ["main", name].map((symbol) => ({ symbol, module: "/bin/p" })).concat(
        { symbol: "schedule", module: "[kernel.kallsyms]" }).reverse();
    const of = (n, ms, other) => {
        const one = new Recording(client, {});

        one.take(waits);
        for (let i = 0; i < n; i++)
            one.take({ ...wait("sleeping", ms), callchain: frames("f") });
        one.take({ ...wait("sleeping", other), callchain: frames("g") });
        return one.tree;
    };
    const row = (tree, before) => rows(tree, before).find(({ name }) => name === "f");
    const [f] = rows(of(1, 900, 100), null), texts = [f.name, f.self, f.times.self];

    assert.deepEqual(texts, ["f", 0.9, 1e9]);
    assert.equal(rows(of(1, 900, 100), null).length, 3, "the rows are main, f and g, without kernel functions");
    for (const [n, ms, sure] of [[1, 900, false], [900, 1, true]]) {
        const before = of(n, ms, 100), after = of(n, ms, 1100), { change, error } = row(after, before);
        const node = [...difference(before, after).nodes()].find(({ name }) => name === "f");
        assert.ok(Math.abs(change - (0.45 - 0.9)) < 1e-9, `${change}`);
        assert.equal(isSure(change, error), sure);
        assert.ok(Math.abs(node.error - error) < 1e-9, "graph and table have the same error");
    }
});

test("simultaneous on-CPU and off-CPU recordings stop together; if one is refused, the other is shown", async () => {
    const beside = new Recording(client, { seconds: "1" });
    let n = 0;
    const both = await recorded((response, write) => {
        n++;
        write(asked.at(-1).includes("off-cpu") ? waits : header, sample("f"));
    }, async (recording) => {
        await eventually("samples of both recordings", () => recording.samples > 0 && beside.samples > 0);
        assert.match(progress(recording), /^1 s left, 1 wait, 1 sample, /);
        recording.stop("stopped");
    }, new Recording(client, { event: "off-cpu" }, { beside }));

    assert.deepEqual([n, both.shown, both.refusal, both.cause, beside.cause, beside.ended],
                     [2, both, null, "stopped", "stopped", true]);
    both.header = null;
    both.fault = new Error("no BPF");
    assert.deepEqual([both.shown, both.refusal], [beside, both.fault]);
});

// --- past samples

// Requests past samples from a daemon that has samples since `since`.
function looked(since, interval, times, request = {}) {
    return recorded((response, write) => {
        const seconds = now - since;

        write({ ...header, time: since, seconds }, ...times.map((time) => ({ ...sample("f"), time })),
              { ...end, reason: "last", seconds });
        response.end();
    }, () => {}, new Recording(client, request, { interval }));
}

const asksFor = (url) => Object.fromEntries(new URL(url, client.base).searchParams);

test("of past samples, only those within the interval are drawn", async () => {
    const interval = { since: 1950, until: 1960 };
    const request = { event: "cycles", frequency: "99", seconds: "10", cpu: "0", cgroup: "/a", pid: "" };
    const one = await looked(1945, interval, [1949.9, 1950, 1955, 1960, 1960.1], request);

    assert.deepEqual([one.samples, one.tree.total, one.elapsed, one.fault], [3, 3, 10, null]);
    assert.deepEqual(asked.map((url) => url.split("?")[0]), ["/api/v1/status", "/api/v1/samples"]);
    assert.deepEqual(asksFor(asked[1]), { last: "55", cpu: "0", cgroup: "/a" });
    assert.match(covered(one), /^\d.* to .*, 10 s: complete\.$/);
    assert.match(summary(one), /^cycles at 99 Hz, 10 s, 3 samples, CPUs 0, \/a$/);
    assert.deepEqual(notes(one), []);
});

test("a note says for which part of an interval the daemon still has samples, or that none are left", async () => {
    const some = await looked(1957, { since: 1950, until: 1960 }, [1958]);
    const late = await looked(1990, { since: 1950, until: 1960 }, [1991]);
    const early = await looked(1990, { since: 2050, until: 2060 }, [1991]);
    const short = await looked(1990, null, [1991], pastOf({}, 60));

    assert.deepEqual([some.samples, late.samples, early.samples, short.samples], [1, 0, 0, 1]);
    assert.match(covered(some), /, 10 s: the daemon had samples of .*, 3 s\.$/);
    assert.match(covered(late), /, 10 s: the daemon no longer has these samples, only those of .*, 10 s\.$/);
    assert.match(covered(early), /does not yet have/);
    assert.match(covered(short), /, 1 min 0 s: the daemon had samples of .*, 10 s\.$/);
    assert.deepEqual([notes(late), asksFor(asked.at(-1))], [[], { last: "60" }]);
});

test("an interval can be requested again while the hindsight covers it", async () => {
    const request = { cpu: "0", seconds: "10" };
    const one = await looked(1945, { since: 1950, until: 1960 }, [1955], request);
    const { last, ...rest } = one.again(3600), other = new Recording(client, request, { interval: one.interval });

    assert.ok(Number(last) >= 51, last);
    assert.deepEqual(rest, { cpu: "0", cgroup: undefined, pid: undefined });
    assert.equal(one.again(49), null);
    assert.equal((await looked(1990, { since: 1950, until: 1960 }, [])).again(3600), null);
    assert.equal(other.subject, one.subject, "equal requests have the same subject");
});

test("requests for past samples cover at least one second; the interval is in the URL", () => {
    assert.deepEqual(["-7", "0.2", "59.1", "1e12"].map((seconds) => pastOf({}, Number(seconds)).last),
                     ["1", "1", "60", "86400"]);
    const { from, to } = parametersOf(stateOf(new URLSearchParams("from=1950&to=1960")));
    assert.deepEqual([from, to], [1950, 1960]);
    assert.equal(stateOf(new URLSearchParams("from=1960&to=1950")).interval, null);
});

test("a daemon error is assigned to a control", () => {
    const sentences = {
        event: ['there is no event "x"', 'parameter "event": x', "cpu 0 cycles: this machine offers no hardware PMU"],
        threshold: ['parameter "threshold": expected seconds above 0'], state: ['parameter "state": expected runnable'],
        rate: ["frequency and period exclude each other", 'parameter "period": x'],
        cpu: ['parameter "cpu": this machine has no CPU 2, only 0-1', 'parameter "cpu": CPU 1 is offline'],
        seconds: ["99999 seconds are over the limit of 3600"],
        cgroup: ["there is no cgroup /x below /sys"], pid: ["there is no process 7"],
    };

    for (const [control, all] of Object.entries(sentences))
        for (const sentence of all)
            assert.equal(culprit(sentence), control, sentence);
    assert.match(remedy({ message: "busy.", status: 503, retryAfter: 5 }), /^Busy\. Record again in 5 s\.$/);
});

test("events of several PMUs are merged, suggestions come first, and forbidden events last", () => {
    const offers = gather([
        { name: "cpu-clock", pmu: "software", kind: "software", description: "" },
        { name: "sched:cycles", pmu: "tracepoint", kind: "tracepoint", description: "" },
        { name: "cycles", pmu: "a55", kind: "hardware", description: "Cycles." },
        { name: "cycles", pmu: "a76", kind: "hardware", description: "Cycles." },
        { name: "a76/stall_backend/", pmu: "a76", kind: "pmu", description: "" },
        { name: "", pmu: "", kind: "note", description: "x" },
    ], []);

    assert.deepEqual(offers.map(({ name }) => name), ["off-cpu", "cpu-clock", "sched:cycles", "cycles",
                                                      "a76/stall_backend/"]);
    assert.equal(offers[3].note, "Cycles. a55, a76");
    assert.deepEqual(choices(offers).map(({ name }) => name), ["cycles", "off-cpu", "a76/stall_backend/"]);
    assert.deepEqual(find(offers, "CYC").map(({ name }) => name), ["cycles", "sched:cycles"]);
});

test("clock events are sampled by time; for other events a period is proposed from their rate", () => {
    for (const event of ["cycles", "cpu-cycles:u", "cpu-clock", "task-clock:k", "a76/cpu_cycles/", " ref-cycles "])
        assert.ok(isClock(event), event);
    for (const event of ["cycles-x", "cache-misses", "page-faults:u", "sched:sched_switch", "cpu_cycles_x"])
        assert.ok(!isClock(event), event);
    assert.equal(proposedPeriod("cycles:u", 1e9), null);
    const periods = [[0, 1], [50, 1], [99, 1], [198.5, 2], [1500, 10], [43000, 400], [2.2e6, 20000], [9.9e8, 1e7]];
    for (const [rate, period] of periods)
        assert.equal(proposedPeriod("cache-misses", rate), period, String(rate));
    assert.equal(proposedPeriod("cache-misses", null), 10000, "the default if the rate is unknown");
    assert.equal(proposedPeriod("context-switches", null), 1);
});

test("events have the names that sampling uses, and rates are per CPU", () => {
    const rates = ratesOf({ totals: [{ events: { context_switches: 300, minor_faults: 80, major_faults: 20 } },
                                     { events: { cycles: null, context_switches: 100 } }] }, 4);

    assert.deepEqual([...rates], [["context-switches", 100], ["minor-faults", 20], ["major-faults", 5],
                                  ["page-faults", 25]]);
    assert.equal(ratesOf({}, 4).size, 0);
    assert.equal(ratesOf({ totals: [{ events: { x: 1 } }] }, 0).size, 0);
});
