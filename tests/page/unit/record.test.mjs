// SPDX-License-Identifier: Apache-2.0
// Records made from documents of /api/v1/history and /api/v1/rates: sums, gaps, unknown values, and untrusted files.
import assert from "node:assert/strict";
import test from "node:test";
import { Record, Tracks } from "../../../web/overview/record.js";

function row(more = {}, n = 2) {
    const all = (value) => Array.from({ length: n }, () => value);

    return { collector: "cpu", cpu: 0, pmu: "software", group: "software", state: all("counting"), enabled: all(10),
             running: all(10), events: {}, ...more };
}

const cgroup = (path, times, more = {}) => row({ collector: "cgroup", cpu: undefined, cgroup: path, group: "core",
    events: { task_clock: times }, ...more }, times.length);

function documentOf(rows, { times = [110, 120], seconds = [10, 10], ...more } = {}) {
    return { interval: 10, times, seconds, left_out: times.map(() => 0), rows, others: [], ...more };
}

const recordOf = (...parameters) => Record.of(documentOf(...parameters));
const numbers = (values) => values.map((value) => Number.isNaN(value) ? null : value);

test("counts become rates; if there are no totals, the CPUs of a PMU are summed", () => {
    const record = recordOf([row({ events: { context_switches: [100, 200] } }),
                             row({ cpu: 1, events: { context_switches: [10, 20] } })]);
    const [line] = record.having("context_switches");

    assert.deepEqual(line.values.get("context_switches"), [11, 22]);
    assert.equal(record.mean(line.values.get("context_switches")), 16.5);
    assert.deepEqual([record.since, record.until], [100, 120]);
});

test("totals are used instead of rows; a cgroup on two PMUs is one line", () => {
    const record = recordOf([cgroup("/a", [1, 1])], { totals: [
        cgroup("/a", [3, 2], { pmu: "armv8_cortex_a55" }), cgroup("/a", [2, 8], { pmu: "armv8_cortex_a76" })] });

    assert.deepEqual([...record.usage()], [["/a", [0.5, 1]]]);
});

test("an unknown value is a gap and not zero; an absent row adds nothing", () => {
    const record = recordOf([cgroup("/a", [1, null, 3, 4], { state: ["counting", "unknown", "counting", "counting"] }),
                             cgroup("/b", [null, null, 3, 4], { state: [null, null, "counting", "counting"] })],
                            { times: [110, 120, 125, 130], seconds: [10, 10, 0, 5] });

    assert.deepEqual(numbers(record.usage().get("/a")), [0.1, null, null, 0.8]);
    assert.deepEqual(numbers(record.usage().get("/b")), [null, null, null, 0.8]);
    assert.equal(record.mean(record.usage().get("/a")), (1 + 4) / 15);
    assert.ok(Number.isNaN(record.mean(record.usage().get("/a"), { since: 110, until: 120 })));
    assert.ok(Number.isNaN(record.mean(undefined)));
});

test("the mean of a ratio is the ratio of the sums", () => {
    const record = recordOf([row({ pmu: "p", events: { cycles: [30, 10], instructions: [30, 30] },
                                   derived: { ipc: [1, 3], llc_mpki: [10, 20], other_ratio: [0, 1] } })]);
    const [line] = record.having("ipc");

    assert.equal(record.value(line, "ipc"), 60 / 40);
    assert.equal(record.value(line, "llc_mpki"), 15);
    assert.equal(record.value(line, "other_ratio"), 0.5);
    assert.equal(record.value(line, "ipc", { since: 110, until: 120 }), 3);
});

test("IPC is available without derived metrics", () => {
    const [line] = recordOf([row({ events: { cycles: [100, 0], instructions: [50, 0] } })]).having("ipc");

    assert.deepEqual(numbers(line.values.get("ipc")), [0.5, null]);
});

test("of two lines with a value, the one that was counted for longer comes first", () => {
    const record = recordOf([row({ group: "a", running: [1, 1], events: { x: [1, 1] } }),
                             row({ group: "b", running: [9, 9], events: { x: [1, 1] } })]);

    assert.deepEqual(record.having("x").map((line) => line.group), ["b", "a"]);
    assert.equal(record.value(record.having("x")[1], "counted"), 0.1);
});

test("a record has the number of busy CPUs in total, for each PMU, and for each CPU", () => {
    const a55 = { pmu: "armv8_cortex_a55", busy: [5, 10] }, a76 = { cpu: 1, pmu: "armv8_cortex_a76", busy: [1, 11] };
    const record = recordOf([row(a55), row(a76)]);

    assert.deepEqual(record.busy(), [0.6, 2.1]);
    assert.deepEqual(record.busy("armv8_cortex_a55"), [0.5, 1]);
    assert.deepEqual([...record.cpus], [[0, [0.5, 1]], [1, [0.1, 1]]]); // shares are at most 1
    // The software PMU covers all CPUs
    assert.deepEqual(recordOf([row(a55), row({ busy: [1, 1] })]).busy(), [0.1, 0.1]);
    assert.equal(recordOf([row()]).busy(), null);
});

test("a record appends newer steps and drops old ones", () => {
    const record = new Record({ keep: 25 });

    record.append(recordOf([cgroup("/a", [1, 2])]));
    record.append(recordOf([cgroup("/a", [9, 3]), cgroup("/b", [9, 4])], { times: [120, 130] }));
    assert.deepEqual(record.ends, [110, 120, 130]);
    assert.deepEqual(record.usage().get("/a"), [0.1, 0.2, 0.3]);
    assert.deepEqual(numbers(record.usage().get("/b")), [null, null, 0.4]);
    record.append(recordOf([cgroup("/c", [5])], { times: [140], seconds: [10] }));
    assert.deepEqual(record.ends, [120, 130, 140]);
    record.append(recordOf([cgroup("/c", [5])], { times: [1000], seconds: [10] }));
    assert.deepEqual([...record.usage().keys()], ["/c"]);
    assert.deepEqual(record.append(new Record()).ends, [1000]);
});

test("answers of /api/v1/rates become steps, with a gap after a pause", () => {
    const answer = (cpus) => ({ seconds: 2, totals: [
        { collector: "cgroup", cgroup: "/a", pmus: ["software"], group: "core", events: { task_clock: cpus },
          ratios: {} },
        { collector: "cpu", pmu: "software", cpus: "0-1", group: "s", events: { x: 1 },
          ratios: { running_ratio: 0.5 } }] });
    const record = new Record({ keep: 300 });

    record.takeRates(answer(0.25), 100, new Map([[0, 0.5], [1, 1]]));
    record.takeRates(answer(0.5), 102);
    record.takeRates(answer(0.5), 101); // ignored: the daemon's clock was set back
    record.takeRates(answer(1), 200);
    assert.deepEqual(record.ends, [100, 102, 198, 200]);
    assert.deepEqual(numbers(record.usage().get("/a")), [0.25, 0.5, null, 1]);
    assert.deepEqual(numbers(record.busy()), [1.5, null, null, null]);
    assert.equal(record.value(record.having("x")[0], "counted"), 0.5);
});

test("a moment belongs to at most one step", () => {
    const record = recordOf([cgroup("/a", [1, 1, 1])], { times: [110, 120.1, 200], seconds: [10, 10, 10] });

    assert.deepEqual([99, 100.5, 110, 110.05, 120.1, 121, 195, 201].map((time) => record.stepAt(time)),
                     [-1, 0, 0, 1, 1, -1, 2, -1]);
    assert.deepEqual(record.between({ since: 110, until: 190 }).ends, [120.1]);
    assert.deepEqual(record.between({ since: 300, until: 400 }).ends, []);
});

test("an empty document gives an empty record", () => {
    const record = recordOf([], { times: [], seconds: [] });

    assert.deepEqual([record.ends, record.usage().size, record.busy()], [[], 0, null]);
    assert.ok(Number.isNaN(record.since));
    assert.equal(record.stepAt(100), -1);
});

test("files that do not contain a history are rejected", () => {
    for (const file of [null, 7, "x", [], {}, { times: [1], seconds: [1] }, documentOf([{}]), documentOf([null]),
                        documentOf([row({ events: null })]), documentOf([row({ state: "counting" })]),
                        documentOf([], { times: [1, "2"] }), documentOf([], { times: [1] }),
                        documentOf([], { totals: { length: 0 } })])
        assert.equal(Record.of(file), null, JSON.stringify(file));
});

test("untrusted names have no special meaning", () => {
    const names = ["/__proto__", "/constructor", '/<img src=x onerror="window.ran=1">', "/\u202e"];
    const rows = names.map((path, i) => cgroup(path, [i + 1, 1]));
    const events = JSON.parse('{"__proto__": [10, 20], "toString": [1, 2]}');
    const record = recordOf([...rows, row({ group: "__proto__", pmu: "constructor", events })]);

    assert.deepEqual([...record.usage().keys()], names);
    assert.deepEqual(record.having("toString")[0].values.get("toString"), [0.1, 0.2]);
    assert.deepEqual(record.having("__proto__")[0].values.get("__proto__"), [1, 2]);
    assert.equal({}.x, undefined);
});

test("a record's arrays become the points of lines in a time range", () => {
    const tracks = new Tracks();

    tracks.values.set("a", [1, NaN, 3]);
    tracks.show({ since: 105, until: 130 }, [100, 120, 130], { since: 90, until: 120 });
    assert.deepEqual(tracks.points("a"), [{ x: -10, y: NaN }, { x: 0, y: 3 }]);
    assert.deepEqual(tracks.summary("a"), { last: 3, lowest: 3, highest: 3, n: 1 });
    assert.equal(tracks.summary("b").n, 0);
    assert.deepEqual([tracks.span(), tracks.timeOf(-5), tracks.interval], [25, 125, [-25, -10]]);
    tracks.show({ since: 105, until: 130 }, [100, 120, 130], { since: 90, until: 100 });
    assert.equal(tracks.interval, null);
});
