// SPDX-License-Identifier: Apache-2.0
// The cards, the numbers that are on each, and the values that a moment has for them.
import { plain } from "../element.js";
import { absencesOf, cpusOf, divide, eventOf, eventsOf, leastShare, mean, metricOf,
         metricsOf } from "./readings.js";
import { kindOfEvent, kindOfMetric, usageKind } from "./tile.js";

const useful = 4, softwareColumns = 2;

function whereOf(cpus) {
    return /[-,]/.test(cpus) ? `CPUs ${cpus}` : `CPU ${cpus}`;
}

// Events that no metric here is made of are worth a number of their own.
function otherEvents(rows, metrics) {
    const formulas = metrics.map((metric) => metric.formula).join(" ");

    return eventsOf(rows).filter((name) => !new RegExp(`\\b${name.replace(/\W/g, "\\$&")}\\b`).test(formulas));
}

// A kind of core, whose CPUs are counted by one PMU.
function coreCard(pmu, documents, rates) {
    const metrics = metricsOf(documents.metrics, "cpu", pmu.name);
    const rows = rates.totals.filter((row) => row.collector === "cpu" && row.pmu === pmu.name);
    const [first, rest] = divide(metrics, useful).map((part) => part.map(kindOfMetric));
    const events = otherEvents(rows, metrics).map(kindOfEvent);
    const software = eventsOf(rates.totals.filter((row) => row.collector === "cpu" && row.pmu === "software"));
    const columns = software.slice(0, first.length ? softwareColumns : undefined).map(kindOfEvent);
    const absences = absencesOf(documents.metrics, "cpu", pmu.name);

    return { id: pmu.name, title: pmu.absent ? "CPUs without a PMU" : plain(pmu.name), where: whereOf(pmu.cpus),
             cpus: cpusOf(pmu.cpus), first: [usageKind, ...first], rest: [...rest, ...events],
             cpuKinds: [usageKind, ...first, ...columns], absences: pmu.absent ? [] : absences,
             note: pmu.absent ? noPmu(absences) : "" };
}

function noPmu(absences) {
    const reason = absences.length ? `: ${plain(absences[0].message)}` : "";

    return `There are no cycles, instructions and cache misses${reason}. What the kernel itself counts is shown.`;
}

// Events that are not of a core: the kernel's own, tracepoints.
function eventCard(pmu, rows) {
    const cpus = rows.find((row) => row.cpus)?.cpus ?? "";

    return { id: pmu, title: pmu === "software" ? "Kernel events" : plain(pmu), cpus: [],
             where: cpus ? whereOf(cpus) : "",
             first: eventsOf(rows).map(kindOfEvent), rest: [], cpuKinds: null, absences: [], note: "" };
}

// PMUs of the whole machine: memory controllers, power.
function machineCard(pmu, documents, rows) {
    const metrics = metricsOf(documents.metrics, "pmu", pmu);

    return { id: `pmu:${pmu}`, title: plain(pmu), where: "the whole machine", cpus: [], collector: "pmu", pmu,
             first: [...metrics.map(kindOfMetric), ...otherEvents(rows, metrics).map(kindOfEvent)], rest: [],
             cpuKinds: null, absences: [], note: "" };
}

function groupByPmu(rows) {
    const groups = new Map();

    for (const row of rows)
        groups.set(row.pmu, [...groups.get(row.pmu) ?? [], row]);
    return [...groups];
}

// `documents`: {metrics, pmus}, as the daemon has them.
export function cardsOf(documents, rates) {
    const cores = documents.pmus.pmus.filter((pmu) => pmu.scope === "core" && pmu.cpus !== "");
    const names = new Set(cores.map((pmu) => pmu.name));
    const others = rates.totals.filter((row) => row.collector === "cpu" && !names.has(row.pmu));
    const machine = rates.totals.filter((row) => row.collector === "pmu");

    return [...cores.map((pmu) => coreCard(pmu, documents, rates)),
            ...groupByPmu(machine).map(([pmu, rows]) => machineCard(pmu, documents, rows)),
            ...groupByPmu(others).map(([pmu, rows]) => eventCard(pmu, rows))];
}

function valueOf(kind, rows, shareUsed) {
    if (kind.usage)
        return { value: shareUsed, share: 1, state: shareUsed === null ? "unknown" : "known" };
    return kind.event ? eventOf(rows, kind.name) : metricOf(rows, kind.name, kind.groups);
}

// {values: by name, cpus: as Cpus takes them} of a card. `used` is the share of each CPU that had something to run.
export function valuesOf(card, rates, used, online) {
    const isOwn = (row) => row.collector === (card.collector ?? "cpu") && row.pmu === (card.pmu ?? card.id);
    const totals = rates.totals.filter(isOwn);
    const values = new Map([...card.first, ...card.rest].map((kind) =>
        [kind.name, valueOf(kind, totals, mean(used, card.cpus))]));

    return { values, cpus: card.cpuKinds ? card.cpus.map((cpu) => cpuOf(card, cpu, rates, used, online)) : [] };
}

function cpuOf(card, cpu, rates, used, online) {
    const rows = rates.byCpu.get(cpu) ?? [];
    const own = rows.filter((row) => row.pmu === card.id), others = rows.filter((row) => row.pmu === "software");

    return { cpu, online: online.has(cpu), share: leastShare(own.length ? own : others),
             values: card.cpuKinds.map((kind) =>
                 valueOf(kind, kind.event ? others : own, used.get(cpu) ?? null)) };
}

// The rows of the collector cpu, by CPU.
export function byCpu(rows) {
    const cpus = new Map();

    for (const row of rows)
        if (row.collector === "cpu" && cpus.has(row.cpu))
            cpus.get(row.cpu).push(row);
        else if (row.collector === "cpu")
            cpus.set(row.cpu, [row]);
    return cpus;
}
