// SPDX-License-Identifier: Apache-2.0
// The documents about a moment, in the terms of the view. Pure functions of the documents.
import { whole } from "../numbers.js";

// "0-2,5" → [0, 1, 2, 5]
export function cpusOf(list) {
    return (list || "").split(",").filter((part) => part !== "").flatMap((part) => {
        const [first, last = first] = part.split("-").map(Number);

        return Array.from({ length: last - first + 1 }, (_, i) => first + i);
    });
}

// The share of the time that each CPU was busy between two statuses, by its number. `at` is of the browser's clock, in
// ms: the daemon's clock is the better one as long as nobody sets it.
export function usage(before, now) {
    const shares = new Map();
    const byDaemon = now.status.timestamp - before.status.timestamp, byBrowser = (now.at - before.at) / 1000;
    const seconds = Math.abs(byDaemon - byBrowser) < 0.5 ? byDaemon : byBrowser;
    const idle = new Map((before.status.machine.cpu_idle_seconds ?? []).map((one) => [one.cpu, one.seconds]));

    for (const { cpu, seconds: later } of now.status.machine.cpu_idle_seconds ?? [])
        if (idle.has(cpu) && seconds > 0)
            shares.set(cpu, Math.min(1, Math.max(0, 1 - (later - idle.get(cpu)) / seconds)));
    return shares;
}

// Of those CPUs whose share is known; null where none is.
export function mean(shares, cpus) {
    const known = cpus.filter((cpu) => shares.has(cpu));

    return known.length ? known.reduce((sum, cpu) => sum + shares.get(cpu), 0) / known.length : null;
}

function isStarved(row) {
    return row.ratios.running_ratio === 0 && Object.values(row.events).every((value) => value === null);
}

function shareOf(row) {
    return row.ratios.running_ratio ?? null;
}

// A value of one target's rows: of those that have it, the one that was counted for most of the time.
function best(rows, valueOf) {
    let found = null;

    for (const row of rows) {
        const value = valueOf(row), share = shareOf(row);
        if (value !== null && value !== undefined && (!found || share > found.share))
            found = { value, share };
    }
    return found;
}

function known(found) {
    return { ...found, state: found.share !== null && found.share < whole ? "estimate" : "known" };
}

// {value, share, state} of a metric; `groups` are those that have it. State: known, estimate, starved, unknown.
export function metricOf(rows, name, groups) {
    const found = best(rows, (row) => row.ratios[name]);
    const own = rows.filter((row) => groups.includes(row.group));

    if (found)
        return known(found);
    return { value: null, share: null, state: own.length && own.every(isStarved) ? "starved" : "unknown" };
}

export function eventOf(rows, name) {
    const found = best(rows, (row) => row.events[name]);
    const own = rows.filter((row) => name in row.events);

    if (found)
        return known(found);
    return { value: null, share: null, state: own.length && own.every(isStarved) ? "starved" : "unknown" };
}

// The lowest share of the time that one of the rows was counted; null where none is known.
export function leastShare(rows) {
    const shares = rows.map(shareOf).filter((share) => share !== null);

    return shares.length ? Math.min(...shares) : null;
}

// The metrics of a PMU, from /api/v1/metrics, in its order: {name, unit, help, groups, starved: a sentence or null}.
export function metricsOf(document, collector, pmu) {
    const isHere = (place) => place.collector === collector && place.pmu === pmu;

    return document.metrics.filter((metric) => metric.name !== "running_ratio").flatMap((metric) => {
        const available = metric.available.find(isHere);
        const starved = metric.absent.find((place) => isHere(place) && place.reason === "starved");

        if (!available && !starved)
            return [];
        return [{ ...metric, groups: available?.groups ?? [], starved: starved?.message ?? null,
                  formula: available?.formula ?? "" }];
    });
}

// Why the others are absent: [{message, names}], each reason once.
export function absencesOf(document, collector, pmu) {
    const reasons = new Map();

    for (const metric of document.metrics)
        for (const place of metric.absent)
            if (place.collector === collector && place.pmu === pmu && place.reason !== "starved")
                reasons.set(place.message, [...reasons.get(place.message) ?? [], metric.name]);
    return [...reasons].map(([message, names]) => ({ message, names }));
}

// Those that say most about what a CPU does, as far as they are there; then the others.
const useful = ["ipc", "cpu_frequency_hertz", "backend_stall_ratio", "topdown_backend_bound_ratio", "llc_mpki",
                 "cache_miss_ratio", "frontend_stall_ratio", "topdown_frontend_bound_ratio", "branch_miss_ratio",
                 "branch_mpki", "l2_mpki"];

// [the most useful, the rest], both in the order that they have.
export function divide(metrics, n) {
    const rank = (metric) => (useful.indexOf(metric.name) + useful.length + 1) % (useful.length + 1);
    const chosen = new Set([...metrics].sort((a, b) => rank(a) - rank(b)).slice(0, n));

    return [metrics.filter((metric) => chosen.has(metric)), metrics.filter((metric) => !chosen.has(metric))];
}

// The names of the events of rows, in their order, each once.
export function eventsOf(rows) {
    return [...new Set(rows.flatMap((row) => Object.keys(row.events)))];
}

// The view reads its documents again when this changes.
export function editionOf(status) {
    return JSON.stringify([status.start_time, status.config_last_reload_success_time, status.machine.cpus_online,
                           status.failures.length, status.starved.length]);
}
