// SPDX-License-Identifier: Apache-2.0
// The findings that the view Health derives from a status.
import assert from "node:assert/strict";
import test from "node:test";
import { absences, cpuList, cpuShares, findings, openerFault, sentence } from "../../../web/health/findings.js";

const well = {
    failures: [], starved: [], paused: false, opener: { state: "running" }, config_last_reload_successful: true,
    collectors: [{ name: "cpu", enabled: true, success: true }, { name: "pmu", enabled: false, success: false }],
    descriptors: { limit: 1024, counters: 900, needed: 900 },
};
const failure = (event, more) => ({ collector: "cpu", group: "core", event, pmu: "armv8", reason: "ENOENT", cpus: "0-3",
    message: "no such event (ENOENT); see list-events", ...more });
const starved = (cpu, more) => ({ collector: "cpu", group: "cache", pmu: "armv8", cgroup: null, cpu, state: "starved",
    cause: "it did not run: other groups hold the counters", ...more });

test("a healthy daemon has no findings", () => assert.deepEqual(findings(well), []));

test("failures with the same reason become one sentence, with a list of what is affected", () => {
    const found = findings({ ...well, failures: [failure("a"), failure("b"), failure("c", { cpus: "7" }),
        failure("d", { message: "permission denied" }),
        failure("", { collector: "cgroup", group: "", message: "none" })] });

    assert.deepEqual(found.map((one) => [one.sentence, one.places]), [
        ["No such event (ENOENT); see list-events.",
            ["cpu: a, b of armv8 on CPUs 0-3, group core", "cpu: c of armv8 on CPU 7, group core"]],
        ["Permission denied.", ["cpu: d of armv8 on CPUs 0-3, group core"]],
        ["None.", ["cgroup"]]]);
});

test("each starved group has one line with its CPUs, below a sentence that says what helps", () => {
    const status = { ...well, starved: [starved(0), starved(1), starved(5), starved(-1, { cgroup: "/a\u202e" })] };
    const [found, ...more] = findings(status);

    assert.deepEqual(more, []);
    assert.match(found.sentence, /^It did not run: other groups hold the counters\. Configure fewer groups .*/);
    assert.deepEqual(found.places, ["cpu: armv8 on CPUs 0-1,5, group cache", "cpu: armv8, group cache, /a\\u202e"]);
    assert.deepEqual(findings({ ...status, paused: true }), []);
});

test("the worst findings come first", () => {
    const found = findings({ ...well, failures: [failure("a")], opener: { state: "lost" }, reader: { state: "lost" },
        config_last_reload_successful: false, config_last_reload_error: "x.yaml:3:5: unknown key \u0007",
        collectors: [{ name: "cgroup", enabled: true, success: false, error: "it broke" }],
        descriptors: { limit: 1024, counters: 900, needed: 2000 } });

    assert.deepEqual(found.map((one) => one.level), ["bad", "bad", "bad", "warn", "warn", "warn"]);
    assert.equal(found[1].sentence, "x.yaml:3:5: unknown key \\u0007");
    assert.equal(found[2].sentence, "It broke.");
    assert.match(found[3].sentence, /need 2000 open files, but .* leaves 900: .* LimitNOFILE=/);
    assert.match(found[4].sentence, /container names has ended.* restart perfcountd/);
});

test("a failing collector is reported once", () => {
    const found = findings({ ...well, failures: [failure("", { collector: "cgroup", reason: "failed", message: "it broke" })],
        collectors: [{ name: "cgroup", enabled: true, success: false, error: "it broke" }] });

    assert.deepEqual(found.map((one) => one.title), ["The cgroup collector fails"]);
});

test("a missing PMU becomes one note, however many failures it causes", () => {
    const found = findings({ ...well, failures: [failure("cycles", { reason: "no_pmu", message: "no PMU (ENOENT)" }),
        failure("x"), failure("instructions", { reason: "no_pmu", message: "another text", collector: "cgroup" }),
        failure("cycles", { reason: "no_pmu", collector: "self", cpus: "" })] });

    assert.deepEqual(found.map((one) => [one.level, one.title]), [["warn", "Not counted"], ["note", "No hardware PMU"]]);
    assert.deepEqual(found[1].places, ["Not counted: cycles, instructions"]);
});

test("an opener process that has ended or does not answer is reported", () => {
    assert.equal(openerFault(well), "");
    assert.match(openerFault({ opener: { state: "lost" } }), /new ones cannot be opened: restart perfcountd\.$/);
    assert.match(openerFault({ opener: { state: "late" } }), /does not answer/);
});

test("missing metrics are grouped by reason", () => {
    const absent = (message, collector = "cpu") => ({ collector, pmu: "armv8", message });

    assert.deepEqual(absences([{ name: "ipc", absent: [absent("no PMU"), absent("no cgroup", "cgroup")] },
        { name: "mpki", absent: [absent("no PMU")] }, { name: "x", absent: [] }]), [
        { sentence: "No PMU.", where: "cpu, armv8", metrics: ["ipc", "mpki"] },
        { sentence: "No cgroup.", where: "cgroup, armv8", metrics: ["ipc"] }]);
});

test("CPU usage is correct even if clocks jump", () => {
    const at = (timestamp, cpu_seconds, pid = 1) => ({ timestamp, processes: [{ pid, cpu_seconds }] });

    assert.deepEqual(cpuShares(at(100, 1), at(105, 1.5), 5.2), { 1: 0.1 });
    assert.deepEqual(cpuShares(at(0, 1), at(1.7e9, 1.5), 5), { 1: 0.1 }, "the wall clock was set forward");
    assert.deepEqual(cpuShares(at(100, 1), at(90, 1.5), 5), { 1: 0.1 }, "the wall clock was set back");
    assert.deepEqual(cpuShares(at(undefined, 1), at(undefined, 1.5), 5), { 1: 0.1 });
    assert.deepEqual(cpuShares(at(100, 1), at(105, 0.1, 2), 5), {}, "another process reuses the pid");
});

test("CPU lists and sentences are formatted", () => {
    assert.equal(cpuList([3, 1, 0, 1, 7]), "0-1,3,7");
    assert.equal(cpuList([]), "");
    assert.deepEqual(["", "a.", "b", "c!"].map(sentence), ["", "A.", "B.", "C!"]);
});
