// SPDX-License-Identifier: Apache-2.0
// The cards, the numbers that are on each, and the values that a moment has for them.
import { plain } from "../element.js";
import { absences_of, cpus_of, divide, event_of, events_of, least_share, mean, metric_of,
         metrics_of } from "./readings.js";
import { kind_of_event, kind_of_metric, usage_kind } from "./tile.js";

const useful = 4, software_columns = 2;

function where_of(cpus) {
    return /[-,]/.test(cpus) ? `CPUs ${cpus}` : `CPU ${cpus}`;
}

// Events that no metric here is made of are worth a number of their own.
function other_events(rows, metrics) {
    const formulas = metrics.map((metric) => metric.formula).join(" ");

    return events_of(rows).filter((name) => !new RegExp(`\\b${name.replace(/\W/g, "\\$&")}\\b`).test(formulas));
}

// A kind of core, whose CPUs are counted by one PMU.
function core_card(pmu, documents, rates) {
    const metrics = metrics_of(documents.metrics, "cpu", pmu.name);
    const rows = rates.totals.filter((row) => row.collector === "cpu" && row.pmu === pmu.name);
    const [first, rest] = divide(metrics, useful).map((part) => part.map(kind_of_metric));
    const events = other_events(rows, metrics).map(kind_of_event);
    const software = events_of(rates.totals.filter((row) => row.collector === "cpu" && row.pmu === "software"));
    const columns = software.slice(0, first.length ? software_columns : undefined).map(kind_of_event);
    const absences = absences_of(documents.metrics, "cpu", pmu.name);

    return { id: pmu.name, title: pmu.absent ? "CPUs without a PMU" : plain(pmu.name), where: where_of(pmu.cpus),
             cpus: cpus_of(pmu.cpus), first: [usage_kind, ...first], rest: [...rest, ...events],
             cpu_kinds: [usage_kind, ...first, ...columns], absences: pmu.absent ? [] : absences,
             note: pmu.absent ? no_pmu(absences) : "" };
}

function no_pmu(absences) {
    const reason = absences.length ? `: ${plain(absences[0].message)}` : "";

    return `There are no cycles, instructions and cache misses${reason}. What the kernel itself counts is shown.`;
}

// Events that are not of a core: the kernel's own, tracepoints.
function event_card(pmu, rows) {
    const cpus = rows.find((row) => row.cpus)?.cpus ?? "";

    return { id: pmu, title: pmu === "software" ? "Kernel events" : plain(pmu), cpus: [],
             where: cpus ? where_of(cpus) : "",
             first: events_of(rows).map(kind_of_event), rest: [], cpu_kinds: null, absences: [], note: "" };
}

// PMUs of the whole machine: memory controllers, power.
function machine_card(pmu, documents, rows) {
    const metrics = metrics_of(documents.metrics, "pmu", pmu);

    return { id: `pmu:${pmu}`, title: plain(pmu), where: "the whole machine", cpus: [], collector: "pmu", pmu,
             first: [...metrics.map(kind_of_metric), ...other_events(rows, metrics).map(kind_of_event)], rest: [],
             cpu_kinds: null, absences: [], note: "" };
}

function group_by_pmu(rows) {
    const groups = new Map();

    for (const row of rows)
        groups.set(row.pmu, [...groups.get(row.pmu) ?? [], row]);
    return [...groups];
}

// `documents`: {metrics, pmus}, as the daemon has them.
export function cards_of(documents, rates) {
    const cores = documents.pmus.pmus.filter((pmu) => pmu.scope === "core" && pmu.cpus !== "");
    const names = new Set(cores.map((pmu) => pmu.name));
    const others = rates.totals.filter((row) => row.collector === "cpu" && !names.has(row.pmu));
    const machine = rates.totals.filter((row) => row.collector === "pmu");

    return [...cores.map((pmu) => core_card(pmu, documents, rates)),
            ...group_by_pmu(machine).map(([pmu, rows]) => machine_card(pmu, documents, rows)),
            ...group_by_pmu(others).map(([pmu, rows]) => event_card(pmu, rows))];
}

function value_of(kind, rows, share_used) {
    if (kind.usage)
        return { value: share_used, share: 1, state: share_used === null ? "unknown" : "known" };
    return kind.event ? event_of(rows, kind.name) : metric_of(rows, kind.name, kind.groups);
}

// {values: by name, cpus: as Cpus takes them} of a card. `used` is the share of each CPU that had something to run.
export function values_of(card, rates, used, online) {
    const is_own = (row) => row.collector === (card.collector ?? "cpu") && row.pmu === (card.pmu ?? card.id);
    const totals = rates.totals.filter(is_own);
    const values = new Map([...card.first, ...card.rest].map((kind) =>
        [kind.name, value_of(kind, totals, mean(used, card.cpus))]));

    return { values, cpus: card.cpu_kinds ? card.cpus.map((cpu) => cpu_of(card, cpu, rates, used, online)) : [] };
}

function cpu_of(card, cpu, rates, used, online) {
    const rows = rates.by_cpu.get(cpu) ?? [];
    const own = rows.filter((row) => row.pmu === card.id), others = rows.filter((row) => row.pmu === "software");

    return { cpu, online: online.has(cpu), share: least_share(own.length ? own : others),
             values: card.cpu_kinds.map((kind) =>
                 value_of(kind, kind.event ? others : own, used.get(cpu) ?? null)) };
}

// The rows of the collector cpu, by CPU.
export function by_cpu(rows) {
    const cpus = new Map();

    for (const row of rows)
        if (row.collector === "cpu" && cpus.has(row.cpu))
            cpus.get(row.cpu).push(row);
        else if (row.collector === "cpu")
            cpus.set(row.cpu, [row]);
    return cpus;
}
