// SPDX-License-Identifier: Apache-2.0
// Converts the faults in /api/v1/status to sentences, each with a list of what it affects. Pure functions.
import { plain } from "../element.js";

const starvedHelp = "Configure fewer groups on this PMU (collectors.*.groups), or stop other programs that count, " +
    "such as perf; on x86 also set kernel.nmi_watchdog=0.";

// "no such event (ENOENT); see x" → "No such event (ENOENT); see x."
export function sentence(text) {
    const clean = plain(text).trim();

    return clean === "" ? "" : clean[0].toUpperCase() + clean.slice(1) + (/[.!?]$/.test(clean) ? "" : ".");
}

// Groups items by key. Returns [{key, items}], in the order in which the keys first occur.
function grouped(items, keyOf) {
    const groups = new Map();

    for (const item of items) {
        const key = keyOf(item);
        if (groups.has(key))
            groups.get(key).items.push(item);
        else
            groups.set(key, { key, items: [item] });
    }
    return [...groups.values()];
}

const unique = (values) => [...new Set(values.filter((value) => value !== ""))];

// [0, 1, 2, 5] → "0-2,5"
export function cpuList(numbers) {
    const sorted = [...new Set(numbers)].sort((a, b) => a - b);
    const ranges = [];

    for (const cpu of sorted)
        if (ranges.length > 0 && ranges[ranges.length - 1][1] === cpu - 1)
            ranges[ranges.length - 1][1] = cpu;
        else
            ranges.push([cpu, cpu]);
    return ranges.map(([first, last]) => first === last ? `${first}` : `${first}-${last}`).join(",");
}

const onCpus = (cpus) => cpus === "" ? "" : ` on CPU${/[-,]/.test(cpus) ? "s" : ""} ${cpus}`;
const groupOf = (group) => group === "" ? "" : `, group ${plain(group)}`;

// "cpu: cycles, instructions on CPUs 0-3, group core"
function failurePlace({ items }) {
    const { collector, group, pmu, cpus } = items[0];
    const events = unique(items.map((item) => item.event)).map(plain).join(", ");
    const of = pmu === "" || pmu === collector ? "" : ` of ${plain(pmu)}`;
    const where = events === "" ? "" : `: ${events}${of}${onCpus(cpus)}`;

    return `${plain(collector)}${where}${groupOf(group)}`;
}

function starvedPlace({ items }) {
    const { collector, group, pmu, cgroup } = items[0];
    const cpus = cpuList(items.map((item) => item.cpu).filter((cpu) => cpu >= 0));

    return `${plain(collector)}: ${plain(pmu)}${onCpus(cpus)}${groupOf(group)}` +
        (cgroup === null ? "" : `, ${plain(cgroup)}`);
}

const keyed = (...names) => (item) => JSON.stringify(names.map((name) => item[name]));

// Merges failures with the same reason. A collector that fails as a whole is reported separately.
function failures(status) {
    const others = status.failures.filter((one) => one.reason !== "failed" && one.reason !== "no_pmu");

    return grouped(others, keyed("message")).map(({ items }) => ({
        level: "warn", title: "Not counted", sentence: sentence(items[0].message),
        places: grouped(items, keyed("collector", "group", "pmu", "cpus")).map(failurePlace),
    }));
}

// A missing PMU is not a fault: all failures due to it become one note.
function noPmu(status) {
    const items = status.failures.filter((one) => one.reason === "no_pmu");
    const events = unique(items.map((one) => one.event)).map(plain).join(", ");

    return items.length === 0 ? [] : [{
        level: "note", title: "No hardware PMU",
        sentence: "This machine has no PMU: a virtual machine gets one from its host, a board needs a pmu node in " +
            "its device tree. Software events are counted.",
        places: [`Not counted: ${events}`],
    }];
}

// No group is reported as starved while counting is paused.
function starved(status) {
    return grouped(status.paused ? [] : status.starved, keyed("cause", "state")).map(({ items }) => ({
        level: "warn",
        title: items[0].state === "starved" ? "Starved: no values" : "Counted in part",
        sentence: `${sentence(items[0].cause)}${/counter/.test(items[0].cause) ? ` ${starvedHelp}` : ""}`,
        places: grouped(items, keyed("collector", "group", "pmu", "cgroup")).map(starvedPlace),
    }));
}

function collectors(status) {
    return status.collectors.filter((one) => one.enabled && !one.success).map((one) => ({
        level: "bad", title: `The ${plain(one.name)} collector fails`, sentence: sentence(one.error), places: [],
    }));
}

const openerFaults = {
    lost: "The process that opens counters has ended. Open counters keep counting, but new ones cannot be opened: " +
        "restart perfcountd.",
    late: "The process that opens counters does not answer. Open counters keep counting.",
};

// Returns why no new counters can be opened, or "".
export function openerFault(status) {
    return openerFaults[status.opener.state] ?? "";
}

function daemon(status) {
    const found = [];
    const { descriptors } = status;

    if (openerFault(status))
        found.push({ level: "bad", title: "Opener", sentence: openerFault(status), places: [] });
    if (!status.config_last_reload_successful)
        found.push({ level: "bad", title: "The last reload failed: the previous configuration stays in effect",
            sentence: plain(status.config_last_reload_error), places: [] });
    if (descriptors.needed > descriptors.counters)
        found.push({ level: "warn", title: "Too few descriptors", places: [],
            sentence: `Counters need ${descriptors.needed} open files, but the limit of ${descriptors.limit} leaves ` +
                `${descriptors.counters}: raise LimitNOFILE= of the service, or count fewer events.` });
    if (status.reader?.state === "lost")
        found.push({ level: "warn", title: "Reader of names", places: [],
            sentence: "The process that reads container names has ended. Known containers keep their " +
                "names, and new ones are named by their cgroup paths: restart perfcountd." });
    return found;
}

// Returns [{level: "bad" | "warn" | "note", title, sentence, places: [text]}], the worst first. A finding of the level
// "note" requires no action.
export function findings(status) {
    const all = [...daemon(status), ...collectors(status), ...starved(status), ...failures(status), ...noPmu(status)];

    return ["bad", "warn", "note"].flatMap((level) => all.filter((one) => one.level === level));
}

// Returns the derived metrics that lack a value on some PMU, by reason: [{sentence, where, metrics: [name]}].
export function absences(metrics) {
    const all = metrics.flatMap((metric) => metric.absent.map((one) => ({ ...one, name: metric.name })));

    return grouped(all, keyed("collector", "pmu", "message")).map(({ items }) => ({
        sentence: sentence(items[0].message),
        where: [items[0].collector, items[0].pmu].filter(Boolean).map(plain).join(", "),
        metrics: items.map((item) => item.name),
    }));
}

// Returns {pid: share}, the share of a CPU that each process used between two answers. If the daemon's wall clock has
// jumped, `seconds` is used instead: the time between the answers on the browser's monotonic clock.
export function cpuShares(before, after, seconds) {
    const byDaemon = after.timestamp - before.timestamp;
    const elapsed = Math.abs(byDaemon - seconds) < 1 + seconds / 2 ? byDaemon : seconds;
    const shares = {};

    for (const process of after.processes) {
        const old = before.processes.find((one) => one.pid === process.pid);
        if (old && elapsed > 0)
            shares[process.pid] = Math.max(process.cpu_seconds - old.cpu_seconds, 0) / elapsed;
    }
    return shares;
}
