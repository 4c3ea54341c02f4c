// SPDX-License-Identifier: Apache-2.0
// The view Now, made of the daemon's documents: cards, values, and how far each can be trusted.
import assert from "node:assert/strict";
import test from "node:test";
import { byCpu, cardsOf, valuesOf } from "../../../web/now/plan.js";
import { absencesOf, cpusOf, divide, mean, metricOf, usage } from "../../../web/now/readings.js";
import { kindOfEvent } from "../../../web/now/tile.js";

const a55 = { name: "armv8_cortex_a55", scope: "core", cpus: "0-1", absent: false };
const a76 = { name: "armv8_cortex_a76", scope: "core", cpus: "2-3", absent: false };
const software = { name: "software", scope: "any", cpus: "0-3", absent: false };
const cpuPlaces = (groups) => [a55, a76].map((pmu) => ({ collector: "cpu", pmu: pmu.name, groups,
                                                         formula: "instructions / cycles" }));

function metric(name, unit, available, absent = []) {
    return { name, unit, help: `${name}.`, available, absent };
}

const noMisses = { collector: "cpu", pmu: a55.name, reason: "not_counted", message: "no group counts cache-misses" };
const documents = {
    pmus: { pmus: [a55, a76, software] },
    metrics: { metrics: [
        metric("ipc", "ratio", cpuPlaces(["overview"])),
        metric("running_ratio", "ratio", cpuPlaces(["overview", "software"])),
        metric("cache_miss_ratio", "ratio", [], [noMisses]),
        metric("llc_mpki", "per 1000 instructions", [], [noMisses]),
        metric("package_watts", "watts", [{ collector: "pmu", pmu: "power", groups: ["rapl"], formula: "energy_pkg" }]),
    ] },
};

function row(pmu, group, cpu, events, ratios, collector = "cpu") {
    return { collector, pmu, group, events, ratios, ...typeof cpu === "number" ? { cpu } : { cpus: cpu } };
}

function core(pmu, cpu, ipc, share = 1) {
    return row(pmu, "overview", cpu, { cycles: 1e9, instructions: ipc * 1e9, bus_cycles: 7 },
               { ipc, running_ratio: share });
}

function ratesOf({ rows = [], totals = [] } = {}) {
    const power = row("power", "rapl", "0", { energy_pkg: 5 }, { package_watts: 5, running_ratio: 1 }, "pmu");

    return { byCpu: byCpu(rows), totals: [core(a55.name, "0-1", 0.5), core(a76.name, "2-3", 2, 0.31),
        row("software", "software", "0-3", { context_switches: 0.01 }, { running_ratio: 1 }), power, ...totals] };
}

test("lists of CPUs", () => {
    assert.deepEqual(cpusOf("0-2,5,8-9"), [0, 1, 2, 5, 8, 9]);
    assert.deepEqual(cpusOf(""), []);
    assert.deepEqual(cpusOf(undefined), []);
});

function statusAt(timestamp, at, ...idle) {
    const cpu_idle_seconds = idle.map(([cpu, seconds]) => ({ cpu, seconds }));

    const machine = { cpu_idle_seconds: idle.length ? cpu_idle_seconds : null };

    return { at: at * 1000, status: { timestamp, machine } };
}

test("utilisation is of the daemon's clock, unless somebody sets it", () => {
    const before = statusAt(100, 7, [0, 50], [1, 50], [2, 50]);

    assert.deepEqual([...usage(before, statusAt(102, 9.1, [0, 50.5], [1, 52.01], [3, 1]))], [[0, 0.75], [1, 0]]);
    assert.deepEqual([...usage(before, statusAt(-9e9, 9, [0, 51]))], [[0, 0.5]]);
    assert.deepEqual([...usage(before, statusAt(102, 9, [0, 49]))], [[0, 1]]); // iowait may fall
    assert.equal(usage(before, statusAt(102, 9)).size, 0); // hidden
    assert.equal(usage(before, statusAt(100, 7, [0, 50])).size, 0);
    assert.equal(mean(new Map([[0, 1], [1, 0.5], [4, 0]]), [0, 1, 2]), 0.75);
    assert.equal(mean(new Map(), [0]), null);
});

test("each kind of core has its card, the kernel and the machine have theirs", () => {
    const cards = cardsOf(documents, ratesOf());

    assert.deepEqual(cards.map((card) => [card.title, card.where, card.first.map((kind) => kind.name)]), [
        ["armv8_cortex_a55", "CPUs 0-1", ["used", "ipc"]],
        ["armv8_cortex_a76", "CPUs 2-3", ["used", "ipc"]],
        ["power", "the whole machine", ["package_watts"]],
        ["Kernel events", "CPUs 0-3", ["context_switches"]],
    ]);
    assert.deepEqual(cards[0].rest.map((kind) => kind.name), ["bus_cycles"]); // no metric is made of it
    assert.deepEqual(cards[0].cpuKinds.map((kind) => kind.name), ["used", "ipc", "context_switches"]);
    assert.deepEqual(cards[0].absences, [{ message: noMisses.message, names: ["cache_miss_ratio", "llc_mpki"] }]);
    assert.deepEqual(absencesOf(documents.metrics, "cpu", a76.name), []);
});

test("a value has the share of the time that it was counted", () => {
    const rates = ratesOf(), cards = cardsOf(documents, rates);
    const of = (i) => valuesOf(cards[i], rates, new Map([[2, 0.5], [3, 1]]), new Set([0, 1, 2, 3])).values;

    assert.deepEqual(of(0).get("ipc"), { value: 0.5, share: 1, state: "known" });
    assert.deepEqual(of(1).get("ipc"), { value: 2, share: 0.31, state: "estimate" });
    assert.deepEqual(of(0).get("used"), { value: null, share: 1, state: "unknown" });
    assert.deepEqual(of(1).get("used"), { value: 0.75, share: 1, state: "known" });
    assert.equal(of(2).get("package_watts").value, 5);
});

test("of several groups that have a metric, the one that was counted most", () => {
    const rows = [core("p", "0", 1, 0.2), core("p", "0", 3, 0.9), core("p", "0", 2, 0.5)];

    assert.equal(metricOf(rows, "ipc", ["overview"]).value, 3);
});

test("starved is not zero, and zero is not starved", () => {
    const dry = (ratios) => [row("p", "core", 0, { cycles: null, instructions: null }, ratios)];

    assert.equal(metricOf(dry({ running_ratio: 0 }), "ipc", ["core"]).state, "starved");
    assert.equal(metricOf(dry({}), "ipc", ["core"]).state, "unknown"); // paused, or a clock that stood
    assert.equal(metricOf(dry({ running_ratio: 0 }), "ipc", ["other"]).state, "unknown");
    assert.deepEqual(metricOf([core("p", 0, 0)], "ipc", ["overview"]), { value: 0, share: 1, state: "known" });
});

test("a metric that is absent because it is starved keeps its place, and says what helps", () => {
    const starved = { collector: "cpu", pmu: a55.name, reason: "starved", message: "no counter was free for it" };
    const metrics = { metrics: [metric("ipc", "ratio", [], [starved])] };
    const [card] = cardsOf({ metrics, pmus: { pmus: [a55] } }, ratesOf());

    assert.equal(card.first[1].name, "ipc");
    assert.equal(card.first[1].starved, starved.message);
    assert.deepEqual(card.absences, []);
});

test("each CPU has the numbers of its PMU; one that is offline has none", () => {
    const software = row("software", "software", 0, { context_switches: 9 }, { running_ratio: 1 });
    const rows = [core(a55.name, 0, 0.4, 0.5), software];
    const rates = ratesOf({ rows }), [card] = cardsOf(documents, rates);
    const { cpus } = valuesOf(card, rates, new Map([[0, 0.9]]), new Set([0, 2, 3]));

    assert.deepEqual(cpus.map((cpu) => [cpu.cpu, cpu.online, cpu.share]), [[0, true, 0.5], [1, false, null]]);
    assert.deepEqual(cpus[0].values.map((one) => one.value), [0.9, 0.4, 9]);
    assert.deepEqual(cpus[1].values.map((one) => one.value), [null, null, null]);
});

test("a machine without a PMU says so once, and shows what there is", () => {
    const message = "this machine offers no hardware PMU";
    const cpu = { name: "cpu", scope: "core", cpus: "0-3", absent: true };
    const absent = [{ collector: "cpu", pmu: "cpu", reason: "no_pmu", message }];
    const metrics = { metrics: [metric("ipc", "ratio", [], absent), metric("llc_mpki", "x", [], absent)] };
    const totals = [row("software", "software", "0-3", { minor_faults: 1 }, { running_ratio: 1 })];
    const [card, kernel] = cardsOf({ metrics, pmus: { pmus: [cpu, software] } }, { byCpu: byCpu([]), totals });

    assert.equal(card.title, "CPUs without a PMU");
    assert.ok(card.note.includes(message));
    assert.deepEqual(card.absences, []);
    assert.deepEqual(card.cpuKinds.map((kind) => kind.name), ["used", "minor_faults"]);
    assert.equal(kernel.title, "Kernel events");
});

test("the four that say most, in the order of the list", () => {
    const names = (part) => part.map((one) => one.name);
    const [first, rest] = divide(["ipc", "ipc_user", "branch_mpki", "llc_mpki", "x", "backend_stall_ratio"]
        .map((name) => ({ name })), 4);

    assert.deepEqual(names(first), ["ipc", "branch_mpki", "llc_mpki", "backend_stall_ratio"]);
    assert.deepEqual(names(rest), ["ipc_user", "x"]);
});

test("a rate that is seldom is not zero", () => {
    const { text } = kindOfEvent("major_faults");

    assert.equal(text(0), "0 /s");
    assert.match(text(0.01), /^< 0/);
});
