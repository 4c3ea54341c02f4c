// SPDX-License-Identifier: Apache-2.0
// The tiles, which show the most informative numbers of this machine, each with a sparkline; and the selection of these
// numbers.
import { element, plain, replace, write } from "../element.js";
import { Line } from "../lines.js";
import { absent, amount, cpusOf, digits, metric, percent, titleOf, unitLabel, whole } from "../numbers.js";

const shown = 8; // number of tiles shown at first; a button shows the others
const changed = 0.25; // minimum relative change for which a value is marked as worse

// Derives the name of a kind of core from its PMU: "armv8_cortex_a76" → "Cortex-A76".
export function coreTitle(name) {
    const arm = /^armv\d+_(cortex|neoverse)_(\w+)$/.exec(name), kinds = { cpu_core: "P cores", cpu_atom: "E cores" };

    if (arm)
        return `${arm[1][0].toUpperCase()}${arm[1].slice(1)}-${arm[2].toUpperCase()}`;
    return kinds[name] ?? (/^cpu$|^armv8_pmuv3/.test(name) ? "CPUs" : plain(name));
}

// Returns the kinds of core in a saved record, which may come from another machine.
export function coresIn(record) {
    const names = [...record.lines.values()].filter((line) => line.collector === "cpu" && line.values.has("cycles"))
        .map((line) => line.pmu);

    return [...new Set(names)].map((pmu) => ({ pmu, title: coreTitle(pmu), absent: false, cpus: [] }));
}

const shortTitle = (name) => coreTitle(name).replace(/^(Cortex|Neoverse)-/, "");

// Returns the kinds of core of a machine, [{pmu, title, cpus: [number]}]. CPUs without a PMU form one kind.
export function coresOf(pmus, online) {
    const cores = pmus.filter((pmu) => pmu.scope === "core" && pmu.cpus !== "")
        .map((pmu) => ({ pmu: pmu.name, title: pmu.absent ? "CPUs" : coreTitle(pmu.name), absent: pmu.absent,
                         cpus: cpusOf(pmu.cpus) }));
    const known = new Set(cores.flatMap((core) => core.cpus)), rest = online.filter((cpu) => !known.has(cpu));

    return rest.length ? [...cores, { pmu: null, title: "CPUs", absent: true, cpus: rest }] : cores;
}

// Metrics for tiles, the most informative first. The first available name of each row is used. `better`: 1 if higher is
// better, -1 if lower is, 0 for neither. `event`: the event of the flame graph that the tile links to.
const wanted = [
    { names: ["cpu_frequency_hertz"], title: "Clock", each: true, better: 1, event: "cycles" },
    { names: ["ipc"], title: "IPC", each: true, better: 1, event: "cycles" },
    { names: ["backend_stall_ratio", "topdown_backend_bound_ratio"], better: -1, event: "cycles" },
    { names: ["llc_mpki", "l2_mpki", "cache_miss_ratio"], better: -1, event: "cache-misses" },
    { names: ["memory_bytes_per_second"], title: "Memory", better: 0 },
    { names: ["platform_watts", "package_watts"], title: "Power", better: 0 },
];
const events = ["context_switches", "cpu_migrations", "minor_faults", "major_faults"];

function metricTile(entry, lines, options) {
    const { title = titleOf(entry.name), better = 0, event = null, core = null, cpus = null } = options;
    const isShare = entry.unit === "ratio" && !entry.name.startsWith("ipc");
    // Returns whether the values of several PMUs, for example memory controllers, are added up.
    const adds = entry.collector === "pmu";
    const sum = (values) => adds ? values.reduce((a, b) => a + b, 0) : values[0];

    return { key: `${entry.name} ${core?.pmu ?? ""}`, name: entry.name, cpus,
             title: core ? `${title}, ${shortTitle(core.pmu)}` : title,
             help: [entry.help, unitLabel(entry.unit), entry.formula].filter(Boolean).join(" "), better, event,
             max: isShare ? 1 : undefined,
             text: (value) => metric(value, entry.unit, entry.name),
             values(record) {
                 const all = lines(record).map((line) => line.values.get(entry.name));
                 return record.ends.map((_, i) => sum(all.map((values) => values[i])));
             },
             value: (record, range) => sum(lines(record).map((line) => record.value(line, entry.name, range))),
             share: (record, range) => Math.min(...lines(record).map((line) =>
                 record.mean(line.values.get("counted"), range))) };
}

function eventTile(name, better = 0) {
    const lines = (record) => record.having(name, (line) => line.collector === "cpu").slice(0, 1);

    return { key: name, title: plain(titleOf(name)), help: `${plain(name)} per second`, better,
             event: name.replaceAll("_", "-"),
             text: (value) => value > 0 && value < 0.05 ? "< 0.1 /s" : amount(value, "/s"),
             values: (record) => lines(record)[0]?.values.get(name) ?? [],
             value: (record, range) => lines(record).reduce((sum, line) => sum + record.value(line, name, range), 0),
             share: (record, range) => record.mean(lines(record)[0]?.values.get("counted"), range) };
}

// `busy` is the number of CPUs in use at each step, out of `n`. `now` is the current share of time that the CPUs were
// busy, or null.
export function usageTile(busy, n, now) {
    const values = busy.map((value) => value / n);

    return { key: "used", title: "Utilisation", better: 0, max: 1, event: "cpu-clock", text: percent,
             help: "Share of time in which the CPUs had something to run; waiting for I/O is not counted.",
             values: () => values, share: () => 1,
             value: (record, range) => now?.range === range ? now.share : record.mean(values, range) };
}

// Returns the tiles for a record: [those shown at first, the rest]. `metrics` are the entries of /api/v1/metrics.
export function tilesOf(metrics, cores, record) {
    const entries = new Map(metrics.map((entry) => [entry.name, entry])), used = new Set(), first = [];
    const counted = cores.filter((core) => !core.absent);
    const linesOf = (name, collector, pmu) => (record) => {
        const all = record.having(name, (line) => line.collector === collector &&
            (pmu === undefined || line.pmu === pmu));
        return all.filter((line, i) => all.findIndex((one) => one.pmu === line.pmu) === i);
    };
    const make = (entry, options, core) => {
        const collector = linesOf(entry.name, "cpu")(record).length ? "cpu" : "pmu";
        const pmu = collector === "pmu" ? undefined : core.pmu, lines = linesOf(entry.name, collector, pmu);
        const formula = entry.available?.find((one) => one.collector === collector)?.formula;
        const several = collector === "cpu" && counted.length > 1;
        return lines(record).length ? metricTile({ ...entry, collector, formula }, lines, { ...options, cpus: core.cpus,
            core: several ? core : null }) : null;
    };

    for (const { names, each = false, ...options } of wanted) {
        const name = names.find((one) => entries.has(one) && record.having(one, (line) => !line.cgroup).length);
        const fastest = [...counted].reverse();
        if (!name)
            continue;
        used.add(name);
        const made = (each ? counted : fastest).map((core) => make(entries.get(name), options, core)).filter(Boolean);
        const machine = counted.length ? null : make(entries.get(name), options, { pmu: null });
        first.push(...(each ? made : made.slice(0, 1)), ...machine ? [machine] : []);
    }
    const more = metrics.filter(({ name }) => name !== "running_ratio" && !used.has(name))
        .flatMap((entry) => counted.map((core) => make(entry, {}, core)).filter(Boolean));
    const counts = [...new Set([...record.lines.values()].filter((line) => line.collector === "cpu" &&
        line.pmu === "software").flatMap((line) => [...line.values.keys()]))].filter((name) =>
        !["counted", "busy"].includes(name) && !entries.has(name));
    const software = [...events.filter((name) => counts.includes(name)),
                      ...counts.filter((name) => !events.includes(name))].map((name) => eventTile(name));
    const room = Math.max(0, shown - 1 - first.length);
    const unique = (tiles) => tiles.filter((tile, i) => tiles.findIndex((one) => one.key === tile.key) === i);

    return [unique([...first, ...software.slice(0, room)]).slice(0, shown - 1),
            unique([...first.slice(shown - 1), ...software.slice(room), ...more])];
}

// "1.42 GHz" → ["1.42", "GHz"]
export function splitUnit(text) {
    const [, value, unit] = /^(\S*[\d.,]|–|< [\d.,]+)\s*(.*)$/.exec(text) ?? [null, text, ""];

    return [value, unit];
}

// Formats the change from one value to another: "+40%", or for shares "−12 points"; "" if the change is not meaningful.
export function changeOf({ max }, value, before) {
    const change = max === 1 ? 100 * (value - before) : (value - before) / Math.abs(before);
    const sign = change < 0 ? "−" : "+", size = Math.abs(change);
    const rounded = Math.round(max === 1 ? size : 100 * size);

    if (!(rounded > 0 && rounded < Infinity))
        return "";
    return max === 1 ? `${sign}${digits(rounded)} point${rounded === 1 ? "" : "s"}` : `${sign}${percent(rounded / 100)}`;
}

// Returns whether a value is considerably worse than before.
export function isWorse({ better }, value, before) {
    return better !== 0 && Number.isFinite(value) && Number.isFinite(before) && before !== 0 &&
        better * (before - value) / Math.abs(before) > changed;
}

class Tile {
    constructor(tile, tracks, links, onPoint) {
        this.tile = tile;
        this.value = element("span");
        this.unit = element("small");
        this.number = element("div", { class: "value" }, this.value, " ", this.unit);
        this.foot = element("div", { class: "foot" });
        this.line = new Line(tracks, tile.key, { label: tile.title, text: tile.text, max: tile.max, onPoint });
        const title = tile.event ? element("a", { href: links(tile.event), title:
            `${tile.help} Press for a flame graph of ${tile.event}.` }, tile.title)
            : element("span", { title: tile.help }, tile.title);
        this.root = element("section", { class: "card tile", "data-name": tile.key, "aria-label": tile.title },
                            element("h3", {}, title), this.number, this.line.element, this.foot);
    }

    write(value, share, foot, worse) {
        const [number, unit] = splitUnit(Number.isFinite(value) ? this.tile.text(value) : absent);

        write(this.value, number);
        write(this.unit, unit);
        this.number.classList.toggle("estimate", share < whole);
        this.number.title = share < whole ? `An estimate: counted for ${percent(share)} of the time.` : "";
        write(this.foot, foot);
        this.foot.classList.toggle("warn", worse);
    }
}

export class Tiles {
    // links(event) returns the URL of a flame graph.
    constructor({ tracks, links, onPoint }) {
        Object.assign(this, { tracks, links, onPoint, all: [], key: null });
        this.first = element("div", { class: "tiles" });
        this.rest = element("div", { class: "tiles" });
        this.summary = element("summary");
        this.more = element("details", { class: "more", hidden: true }, this.summary, this.rest);
        this.root = element("div", {}, this.first, this.more);
    }

    // Rebuilds the tiles if the selection of tiles has changed.
    make([first, rest]) {
        const key = JSON.stringify([first, rest].map((all) => all.map((tile) => tile.key)));

        if (key === this.key) {
            [...first, ...rest].forEach((tile, i) => (this.all[i].tile = tile));
            return;
        }
        this.close();
        this.key = key;
        const make = (tile) => new Tile(tile, this.tracks, this.links, this.onPoint);
        const made = [first.map(make), rest.map(make)];
        this.all = made.flat();
        replace(this.first, made[0].map((tile) => tile.root));
        replace(this.rest, made[1].map((tile) => tile.root));
        this.more.hidden = rest.length === 0;
        write(this.summary, `${rest.length} more numbers`);
    }

    // `range` is the time range of the values, `compared` the range that they are compared with. words(tile, value,
    // before) returns the text below the value. noteOf(tile) returns an explanation of the value, or null.
    show(record, range, compared, words, noteOf) {
        for (const one of this.all) {
            const { tile } = one, value = tile.value(record, range), before = tile.value(record, compared);
            const note = noteOf(tile);

            this.tracks.values.set(tile.key, tile.values(record));
            one.write(value, tile.share(record, range), note ?? (Number.isFinite(before)
                ? words(tile, value, before) : ""), note !== null || isWorse(tile, value, before));
            one.line.update();
        }
    }

    markAt(time) {
        for (const { line } of this.all)
            line.markAt(time);
    }

    close() {
        for (const { line } of this.all)
            line.close();
    }
}

// --- The strip with a cell for each CPU.

const hot = 0.9;

export class Cpus {
    // links(cpu) returns the URL of the flame graph of a CPU.
    constructor({ links }) {
        Object.assign(this, { links, cells: new Map(), key: null, notes: new Map() });
        this.root = element("section", { class: "card cpus", "aria-label": "CPUs" });
    }

    // `cores` is the result of coresOf().
    make(cores, lists) {
        const key = JSON.stringify(cores);

        if (key === this.key)
            return;
        this.key = key;
        this.cells.clear();
        this.notes.clear();
        replace(this.root, cores.map((core, i) => {
            const note = element("small"), cells = core.cpus.map((cpu) => this.cell(cpu));
            this.notes.set(core.pmu, { note, list: lists[i], cpus: core.cpus, title: core.title });
            const box = element("div", { class: "cells" }, cells);
            box.style.setProperty("--n", core.cpus.length);
            const group = element("div", { class: "cores" }, element("h2", {}, core.title, " ", note), box);
            group.style.setProperty("--share", core.cpus.length);
            return group;
        }));
    }

    cell(cpu) {
        const text = element("span", {}, absent);
        const cell = element("a", { class: "cell", href: this.links(cpu), "data-cpu": cpu },
                             element("b", {}, String(cpu)), text);

        this.cells.set(cpu, { cell, text });
        return cell;
    }

    // `busy` maps each CPU to the share of time that it was busy; CPUs that are not in `online` are shown as offline.
    // `clocks` maps each kind of core to its clock rate in Hz. `limited` are the CPUs whose clock rate is limited.
    show(busy, online, clocks, limited) {
        for (const [cpu, { cell, text }] of this.cells) {
            const share = busy.get(cpu), here = online.has(cpu), known = here && Number.isFinite(share);
            const words = !here ? "offline" : known ? percent(Math.round(share * 100) / 100) : absent;
            write(text, words);
            cell.style.setProperty("--busy-share", known ? share.toFixed(3) : "0");
            cell.classList.toggle("hot", known && share >= hot);
            cell.classList.toggle("offline", !here);
            cell.title = `CPU ${cpu}: ${words}. Press for a flame graph of this CPU.`;
        }
        for (const [pmu, { note, list, cpus, title }] of this.notes) {
            const clock = clocks.get(pmu), less = cpus.some((cpu) => limited.has(cpu));
            const where = title === "CPUs" ? list : /[-,]/.test(list) ? `CPUs ${list}` : `CPU ${list}`;
            write(note, Number.isFinite(clock) ?
                `${where} · ${digits(clock / 1e9)} GHz${less ? ", limited" : ""}` : where);
        }
    }
}
