// SPDX-License-Identifier: Apache-2.0
// The overview without a browser: the busiest services, the stacked chart, intervals and scales, the choice of tiles,
// and findings.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { comparisonOf, evidenceOf, faultsOf, itemsOf } from "../../../web/overview/attention.js";
import { limitWords, usageBetween } from "../../../web/overview/overview.js";
import { Record } from "../../../web/overview/record.js";
import { nameOf } from "../../../web/overview/services.js";
import { Daemon, Local } from "../../../web/overview/source.js";
import { busiest, outermost, stack } from "../../../web/overview/stack.js";
import { changeOf, coreTitle, coresOf, isWorse, splitUnit, tilesOf, usageTile } from "../../../web/overview/tiles.js";
import { Fault } from "../../../web/client.js";
import { between, hindsightOf, intervalOf, isWithin, timeTicks, valueScale } from "../../../web/scales.js";

// --- the busiest services

const paths = (found) => found.map(({ path }) => path);
const usageOf = (object) => new Map(Object.entries(object));

test("the innermost services are listed, so that none contains another", () => {
    const usage = usageOf({ "/": 4, "/system.slice": 2, "/system.slice/a.service": 1.5, "/system.slice/b.service": 0.4,
                            "/user.slice": 1, "/user.slice/x.scope": 0.1, "/lxc.payload.web": 0.7, "/idle.slice": 0 });

    assert.deepEqual(paths(busiest(usage, 6)),
                     ["/system.slice/a.service", "/user.slice", "/lxc.payload.web", "/system.slice/b.service"]);
    assert.deepEqual(paths(busiest(usage, 1)), ["/system.slice/a.service"]);
    assert.deepEqual(outermost(usage.keys()), ["/"]);
    usage.delete("/");
    assert.deepEqual(outermost(usage.keys()), ["/system.slice", "/user.slice", "/lxc.payload.web", "/idle.slice"]);
});

test("the root cgroup is never listed; equally busy services are sorted by name", () => {
    assert.deepEqual(busiest(usageOf({ "/": 4 }), 6), []);
    assert.deepEqual(paths(busiest(usageOf({ "/": 4, "/b": 0.1, "/a": 0.1, "/c": NaN }), 6)), ["/a", "/b"]);
    assert.deepEqual(busiest(new Map(), 6), []);
});

test("a path is not inside another path that merely begins with the same letters", () => {
    assert.deepEqual(outermost(["/a", "/ab", "/a/b/c"]), ["/a", "/ab"]);
});

test("the band for the other services is the total minus those listed; a step without a value is a gap", () => {
    const { bands, sums, gaps } = stack([[1, NaN, 2, NaN], [0.5, 1, 1, NaN]], [2, 3, 1, NaN], [10, 10, 10, 10]);

    assert.deepEqual(bands, [[1, 0, 2, 0], [0.5, 1, 1, 0], [0.5, 2, 0, 0]]);
    assert.deepEqual(sums, [2, 3, 3, 0]);
    assert.deepEqual(gaps, [false, false, false, true]);
    assert.deepEqual(stack([[1, 1]], null, [10, 0]).gaps, [false, true]);
    assert.deepEqual(stack([], null, []), { bands: [[]], sums: [], gaps: [] });
});

test("utilisation uses the daemon's clock unless that clock has jumped", () => {
    const statusAt = (timestamp, at, ...idle) => ({ at: at * 1000, status: { timestamp, machine: { cpu_idle_seconds:
        idle.length ? idle.map(([cpu, seconds]) => ({ cpu, seconds })) : null } } });
    const before = statusAt(100, 7, [0, 50], [1, 50], [2, 50]);

    assert.deepEqual([...usageBetween(before, statusAt(102, 9.1, [0, 50.5], [1, 52.01], [3, 1]))], [[0, 0.75], [1, 0]]);
    assert.deepEqual([...usageBetween(before, statusAt(-9e9, 9, [0, 51]))], [[0, 0.5]]);
    assert.deepEqual([...usageBetween(before, statusAt(102, 9, [0, 49]))], [[0, 1]]); // iowait time may decrease
    assert.equal(usageBetween(before, statusAt(102, 9)).size, 0);
    assert.equal(usageBetween(before, statusAt(100, 7, [0, 50])).size, 0);
});

test("a cgroup has the name that people use as its title, and its kind or its parent as a note", () => {
    const identity = { title: "shop/db", names: new Map([["container", "db"], ["unit", "docker-1.scope"]]) };

    assert.deepEqual(nameOf("/system.slice/docker-1.scope", identity), { title: "shop/db", note: "container" });
    assert.deepEqual(nameOf("/system.slice/ssh.service", undefined), { title: "ssh.service", note: "system.slice" });
    assert.deepEqual(nameOf("/", undefined), { title: "/", note: "" });
    assert.equal(nameOf("/a\u202e", undefined).title, "a\\u202e");
});

// --- intervals and scales

test("the two ends of an interval may be in either order; an invalid interval in a link is ignored", () => {
    assert.deepEqual(between(7, 3), { since: 3, until: 7 });
    assert.equal(between(3, 3), null);
    assert.equal(between(3, NaN), null);
    assert.deepEqual(intervalOf("100", "200"), { since: 100, until: 200 });
    for (const [from, to] of [["200", "100"], ["100", "100"], [null, "1"], ["-1", "5"], ["1e3", "2000"],
                              ["1", "9".repeat(13)], ["<b>", "7"]])
        assert.equal(intervalOf(from, to), null);
});

test("scales have a few round grid lines, and end at the number of CPUs if that is near", () => {
    assert.deepEqual(valueScale(7.13, 8), { end: 8, step: 2 });
    assert.deepEqual(valueScale(0.3, 8), { end: 0.3, step: 0.1 });
    assert.deepEqual(valueScale(0, 64), { end: 1, step: 0.5 });
    assert.deepEqual(valueScale(NaN), { end: 1, step: 0.5 });
    assert.deepEqual(valueScale(130, 64), { end: 64, step: 20 });
    for (const most of [1e-9, 0.07, 1, 3, 99, 12345, 1e12]) {
        const { end, step } = valueScale(most);
        assert.ok(end >= most * 0.999 && end <= 2 * most && end / step <= 5, `${most}: ${end}, ${step}`);
    }
});

test("the axis has a few round times within the range", () => {
    for (const [since, until, n] of [[1764333333, 1764336933, 6], [1764333333, 1764333633, 3], [0, 90000, 2],
                                     [0, 1e7, 5]]) {
        const ticks = timeTicks(since, until, n);
        assert.ok(ticks.length >= 1 && ticks.length <= n + 1);
        assert.ok(ticks.every((time) => time >= since && time < until && new Date(time * 1000).getSeconds() === 0));
    }
    assert.deepEqual(timeTicks(5, 5, 3), []);
});

// --- tiles

const a55 = { name: "armv8_cortex_a55", scope: "core", cpus: "0-3", absent: false };
const a76 = { name: "armv8_cortex_a76", scope: "core", cpus: "4-7", absent: false };
const entry = (name, unit) => ({ name, unit, help: `${name}.`, available: [{ collector: "cpu", formula: "x / y" }] });
const metrics = [entry("ipc", "ratio"), entry("running_ratio", "ratio"), entry("cpu_frequency_hertz", "hertz"),
    entry("backend_stall_ratio", "ratio"), entry("l2_mpki", "per 1000 instructions"),
    entry("branch_miss_ratio", "ratio"), entry("memory_bytes_per_second", "bytes per second"),
    entry("package_watts", "watts")];

function line(collector, pmu, derived, events = {}) {
    const arrays = (object) => Object.fromEntries(Object.entries(object).map(([name, value]) => [name, [value]]));

    return { collector, pmu, group: "g", state: ["counting"], enabled: [10], running: [5], events: arrays(events),
             derived: arrays(derived) };
}

const document = (...totals) => ({ times: [10], seconds: [10], rows: [], totals });
const core = (pmu, hertz, ipc) => line("cpu", pmu, { ipc, cpu_frequency_hertz: hertz, backend_stall_ratio: 0.5,
    l2_mpki: 7, branch_miss_ratio: 0.1 }, { cycles: 1, instructions: 1 });
const software = line("cpu", "software", {}, { context_switches: 50, minor_faults: 10, odd_event: 1 });

test("a board has tiles for the clock rate and IPC of each kind of core, and one tile for each other metric", () => {
    const record = Record.of(document(core(a55.name, 1.8e9, 0.6), core(a76.name, 2.4e9, 1.2), software,
        line("pmu", "uncore_imc_0", { memory_bytes_per_second: 1e9 }),
        line("pmu", "uncore_imc_1", { memory_bytes_per_second: 2e9 }), line("pmu", "power", { package_watts: 7 })));
    const cores = coresOf([a55, a76], [0, 1, 2, 3, 4, 5, 6, 7]), [first, rest] = tilesOf(metrics, cores, record);
    const all = [...first, ...rest], named = (title) => all.find((tile) => tile.title === title);

    assert.deepEqual(cores.map(({ title, cpus }) => [title, cpus.length]), [["Cortex-A55", 4], ["Cortex-A76", 4]]);
    assert.deepEqual(first.map((tile) => tile.title), ["Clock, A55", "Clock, A76", "IPC, A55", "IPC, A76",
        "Backend stall, A76", "L2 MPKI, A76", "Memory"]);
    assert.equal(new Set(all.map((tile) => tile.key)).size, all.length);
    assert.equal(named("Clock, A55").text(named("Clock, A55").value(record)), "1.8 GHz");
    assert.deepEqual(named("Memory").values(record), [3e9]);
    assert.equal(named("Power").value(record), 7);
    assert.equal(named("IPC, A76").share(record), 0.5);
    assert.deepEqual([named("IPC, A76").event, named("L2 MPKI, A76").event, named("Context switches").event],
                     ["cycles", "cache-misses", "context-switches"]);
    assert.ok(!all.some((tile) => /running/i.test(tile.title)));
    assert.match(named("IPC, A76").help, /^ipc\. x \/ y$/);
});

test("a machine without a PMU shows software events among the first tiles", () => {
    const none = { ...a55, name: "cpu", cpus: "0-1", absent: true };
    const record = Record.of(document(software)), cores = coresOf([none], [0, 1]);
    const [first, rest] = tilesOf(metrics, cores, record);

    assert.deepEqual(first.map((tile) => tile.title), ["Context switches", "Minor faults", "Odd event"]);
    assert.deepEqual(rest, []);
    assert.equal(cores[0].title, "CPUs");
    assert.deepEqual(tilesOf([], coresOf([], [0]), new Record()), [[], []]);
    assert.deepEqual(coresOf([], [0, 1]), [{ pmu: null, title: "CPUs", absent: true, cpus: [0, 1] }]);
});

test("kinds of core have readable names", () => {
    const names = ["armv8_cortex_a76", "armv8_neoverse_n1", "cpu_core", "cpu_atom", "cpu", "<b>\u202e"];

    assert.deepEqual(names.map(coreTitle), ["Cortex-A76", "Neoverse-N1", "P cores", "E cores", "CPUs", "<b>\\u202e"]);
});

test("the current utilisation is used instead of the last step", () => {
    const record = Record.of(document(software)), range = { since: 0, until: 10 };

    assert.equal(usageTile([1], 4, null).value(record, range), 0.25);
    assert.equal(usageTile([1], 4, { range, share: 0.5 }).value(record, range), 0.5);
    assert.equal(usageTile([1], 4, { range, share: 0.5 }).value(record, { ...range }), 0.25);
});

test("a formatted value is split into number and unit; a worse value is recognised", () => {
    assert.deepEqual(["1.42 GHz", "61%", "–", "0.44", "18.3 /1000 instr.", "< 0.1 /s"].map(splitUnit),
        [["1.42", "GHz"], ["61", "%"], ["–", ""], ["0.44", ""], ["18.3", "/1000 instr."], ["< 0.1", "/s"]]);
    assert.equal(isWorse({ better: 1 }, 0.44, 0.91), true);
    assert.equal(isWorse({ better: -1 }, 0.44, 0.91), false);
    assert.equal(isWorse({ better: -1 }, 68, 31), true);
    assert.equal(isWorse({ better: 0 }, 68, 31), false);
    assert.equal(isWorse({ better: 1 }, NaN, 1), false);
    assert.equal(isWorse({ better: 1 }, 0.1, 0), false);
});

// --- sources of records

function clientOf(answers) {
    const asked = [];

    return { asked, async json(path, { parameters }) {
        asked.push({ path, ...parameters });
        const answer = answers.shift();
        if (answer instanceof Error)
            throw answer;
        return answer;
    } };
}

test("requests are limited to a few steps and to exactly the given cgroups", async () => {
    const client = clientOf([document(software), document(software), document(software)]), daemon = new Daemon(client);

    await daemon.lines({ since: 1000, until: 4600 }, ["/a*[x]?\\", "/b"]);
    await daemon.usage({ since: 1000, until: 1060.5 });
    daemon.interval = 1;
    await daemon.machine({ since: 1000, until: 4600 }, ["cpu", "pmu"]);
    assert.deepEqual(client.asked.map(({ since, until, step, cgroup }) => [since, until, step, cgroup]), [
        ["1000.000", null, null, ["/a\\*\\[x]\\?\\\\", "/b"]], ["1000.000", "1060.500", "60.500s", undefined],
        ["1000.000", null, "9s", undefined]]);
    assert.ok(client.asked.every((one) => one.limit === 1));
    assert.equal((await daemon.services({ since: 0, until: 1 }, [])).ends.length, 0); // no cgroups: no request is sent
});

test("an event that nothing counts gives an empty record; a disabled history is an error", async () => {
    const daemon = new Daemon(clientOf([new Fault("no such event", { status: 400 }),
                                        new Fault("nothing is recorded", { status: 404 }), []]));

    assert.equal((await daemon.usage({ since: 0, until: 10 })).ends.length, 0);
    await assert.rejects(daemon.usage({ since: 0, until: 10 }), { status: 404 });
    assert.equal((await daemon.usage({ since: 0, until: 10 })).ends.length, 0); // the answer is not a history
});

test("a saved file supports the same queries as the daemon", async () => {
    const local = new Local(Record.of({ times: [10, 20], seconds: [10, 10], rows: [{ collector: "cgroup", cgroup: "/a",
        group: "g", state: ["counting", "counting"], events: { task_clock: [1, 2] } }] }));

    assert.deepEqual([...(await local.usage({ since: 10, until: 20 })).usage()], [["/a", [0.2]]]);
    assert.deepEqual((await local.machine({ since: 0, until: 10 })).ends, [10]);
});

// --- findings

test("findings are shown as text, and only links to the daemon's documents are accepted as evidence", () => {
    const [first, second] = itemsOf({ findings: [
        { rule: "clock_limited", title: "CPUs 4-7 run at 1.42 of 2.40 GHz", text: "Thermal limit.", since: 5,
          until: null, evidence: "/api/v1/history?cpu=4", cpus: "4-7" },
        { rule: "multiplexed", title: "<img src=x>", evidence: "javascript:alert(1)" }] });

    assert.deepEqual([first.level, first.text, evidenceOf(first.evidence)],
                     ["warn", "Thermal limit.", "api/v1/history?cpu=4"]);
    assert.deepEqual([second.level, second.title, second.text, evidenceOf(second.evidence)],
                     ["quiet", "<img src=x>", "", null]);
    for (const path of ["//evil.example/api/v1/x", "/api/v1/../../x", "/api/v1/\u0000", "https://x/api/v1/a", 7, null])
        assert.equal(evidenceOf(path), null);
    assert.deepEqual(itemsOf({}), []);
    const of = (rule, since, until) => comparisonOf({ rule, since, until }, 10000);
    assert.deepEqual(of("service_changed", 9000, 9300),
                     [{ since: 9000, until: 9300 }, { since: 8700, until: 9000 }]);
    assert.deepEqual(of("clock_limited", 7000, null), // the compared interval is limited to the last hour
                     [{ since: 7000, until: 10000 }, { since: 6400, until: 7000 }]);
    for (const none of [of("starved", 6430, null), of("starved", null, null), of("service_changed", 9000, 9030),
                        of("multiplexed", 9000, 9300)])
        assert.equal(none, null);
});

test("without /api/v1/findings, the overview lists what is not counted, except for a missing PMU", () => {
    const failure = { collector: "cpu", group: "g", event: "cycles", pmu: "cpu", reason: "ENOENT", cpus: "0-1",
                      message: "this machine offers no hardware PMU (ENOENT)" };
    const status = { failures: [failure, { ...failure, reason: "no_pmu", message: "none" },
                                { ...failure, event: "x", message: "no such event" }], paused: false, starved: [],
                     collectors: [{ name: "cgroup", enabled: true, success: false, error: "it is gone" }],
                     descriptors: { needed: 1, counters: 2 }, opener: { state: "running" },
                     config_last_reload_successful: true };

    assert.deepEqual(faultsOf(status).map(({ level, title }) => [level, title]),
                     [["bad", "The cgroup collector fails"], ["quiet", "Not counted"]]);
    assert.match(faultsOf(status)[1].text, /^No such event\. cpu: x/);
});

test("a change is relative to the previous value, or in percentage points for a share", () => {
    assert.equal(changeOf({}, 0.41, 0.92), "−55%");
    assert.equal(changeOf({}, 1234, 100), "+1,130%");
    assert.equal(changeOf({ max: 1 }, 0.68, 0.31), "+37 points");
    assert.equal(changeOf({ max: 1 }, 0.3, 0.31), "−1 point");
    assert.deepEqual([changeOf({}, 1, 0), changeOf({}, 0, 0), changeOf({}, NaN, 1), changeOf({}, 1, 1.001)],
                     ["", "", "", ""]);
});

test("a limited clock rate is shown with the causes of the limit", () => {
    const hot = "A cooling device slows them down: they are too hot.", low = "The supply voltage is too low.";

    assert.equal(limitWords({ text: `At most 1 GHz. ${hot}`, before: 2.4e9 }), "of 2.4 GHz: too hot");
    assert.equal(limitWords({ text: `${hot} ${low}`, before: 2.4e9 }), "of 2.4 GHz: too hot, voltage too low");
    assert.equal(limitWords({ text: "No cooling device is active, so the limit was set in cpufreq." }), "limited");
});

test("the daemon's source contains the sentences about causes that the page looks for", () => {
    const source = readFileSync(new URL("../../../collectors/findings.c", import.meta.url), "utf8");

    assert.match(source, /A cooling device slows/);
    assert.match(source, /supply voltage is too low/);
});

test("whether samples of an interval are kept depends on the daemon's configuration and clock", () => {
    const hindsight = { enabled: true, seconds: 60 }, interval = { since: 1000, until: 1010 };

    assert.equal(hindsightOf({ enabled: true, hindsight }), 60);
    for (const sampler of [undefined, { enabled: true }, { enabled: false, hindsight },
                           { enabled: true, hindsight: { ...hindsight, enabled: false } }])
        assert.equal(hindsightOf(sampler), 0);
    assert.deepEqual([[60, 1060], [60, 1061], [0, 1000], [undefined, 1000]].map(([seconds, now]) =>
        isWithin(interval, seconds, now)), [true, false, false, false]);
});
