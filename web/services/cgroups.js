// SPDX-License-Identifier: Apache-2.0
// The rows of the table, of what the daemon answers: all groups and PMUs of a cgroup are one row.
import { plain } from "../element.js";
import { value_of_formula } from "./formula.js";

const ids = /[0-9a-f]{64}/g, longest = 120;

// An id of a container as it is usually written.
export function short_id(id) {
    return id.slice(0, 12);
}

// A path in a line: ids are short, and of a long one the middle is left out.
export function short_path(path) {
    const text = plain(path.replace(ids, (id) => `${short_id(id)}…`));
    const characters = [...text.slice(0, 10000)];

    return characters.length <= longest ? text
        : `${characters.slice(0, 50).join("")} … ${[...text.slice(-200)].slice(-60).join("")}`;
}

// The names in a path, as /api/v1/cgroups has them.
function identity_of(path, entry = {}) {
    const name = path.slice(path.lastIndexOf("/") + 1);

    return { path, name, unit: entry.unit ?? "", slice: entry.slice ?? "", container: entry.container_id ?? "",
             state: entry.state ?? "watched", title: short_path(path) };
}

function share_of(parts) {
    const shares = parts.map((part) => part.ratios.running_ratio).filter((share) => typeof share === "number");

    return shares.length ? Math.min(...shares) : null;
}

function known(part, event) {
    return typeof part.events[event] === "number";
}

function is_starved(part) {
    return part.ratios.running_ratio === 0 && Object.values(part.events).every((value) => value === null);
}

// One group of a cgroup on all PMUs and CPUs, `parts` of the answer: its share of time, and its values by name.
class Group {
    constructor(parts, formulas) {
        this.name = parts[0].group;
        this.pmus = [...new Set(parts.map((part) => part.pmu))];
        this.share = share_of(parts);
        this.starved = parts.every(is_starved);
        this.partial = parts.some(is_starved);
        this.values = new Map();
        this.parts = parts;
        for (const event of new Set(parts.flatMap((part) => Object.keys(part.events))))
            this.values.set(event, this.sum([event], event));
        this.add_metrics(formulas);
    }

    // A formula of what the parts counted together in which all of `events` are known; null where there is none.
    sum(events, formula) {
        const parts = this.parts.filter((part) => events.every((event) => known(part, event)));
        const value = parts.length === 0 ? NaN : value_of_formula(formula, (event) =>
            parts.reduce((total, part) => total + part.events[event], 0));

        return Number.isFinite(value) ? value : null;
    }

    add_metrics(formulas) {
        const metrics = new Set(this.parts.flatMap((part) => Object.keys(part.ratios)));

        metrics.delete("running_ratio");
        for (const metric of metrics)
            this.values.set(metric, this.parts.length === 1 ? this.parts[0].ratios[metric]
                : this.together(metric, formulas));
        if (this.starved)
            for (const [metric, { formulas: all }] of formulas)
                if (all.some((one) => one.events.every((event) => this.values.has(event))))
                    this.values.set(metric, null);
    }

    // A metric of several PMUs: a ratio of sums, where one formula holds for them.
    together(metric, formulas) {
        const fitting = (formulas.get(metric)?.formulas ?? [])
            .filter((one) => one.events.every((event) => this.values.has(event)));

        return fitting.length === 0 ? null : this.sum(fitting[0].events, fitting[0].formula);
    }
}

// Where two groups count the same, the one that was counted for longer.
function better(one, other) {
    if (one.value === null || other.value === null)
        return one.value !== null;
    return (one.share ?? 0) > (other.share ?? 0);
}

function row_of(identity, parts, formulas) {
    const groups = [...parts.values()].map((one) => new Group(one, formulas));
    const shares = groups.map((group) => group.share).filter((share) => share !== null);
    const values = new Map();

    for (const group of groups)
        for (const [name, value] of group.values) {
            const one = { value, share: group.share, starved: group.starved, partial: group.partial };
            if (!values.has(name) || better(one, values.get(name)))
                values.set(name, one);
        }
    return { key: identity.path, ...identity, groups, values, share: shares.length ? Math.min(...shares) : null };
}

export class Cgroups {
    constructor() {
        this.identities = new Map();
        this.formulas = new Map(); // name of a metric: its entry in /api/v1/metrics
        this.document = { cgroups: [] };
    }

    // Takes the document of /api/v1/cgroups.
    learn(document) {
        this.document = document;
        this.identities = new Map(document.cgroups.map((one) => [one.cgroup, identity_of(one.cgroup, one)]));
    }

    // Takes the document of /api/v1/metrics.
    learn_metrics(document) {
        this.formulas = new Map(document.metrics.filter((one) => one.collectors.includes("cgroup"))
            .map((one) => [one.name, one]));
    }

    get dropped() {
        return [...this.identities.values()].filter((one) => one.state === "dropped");
    }

    // The rows of an answer of /api/v1/rates, and whether it has cgroups that the document does not know yet.
    rows(answer) {
        const cgroups = new Map();
        let news = false;

        for (const part of answer.rates) {
            const groups = cgroups.get(part.cgroup) ?? new Map();
            cgroups.set(part.cgroup, groups.set(part.group, [...(groups.get(part.group) ?? []), part]));
        }
        const rows = [...cgroups].map(([path, parts]) => {
            news ||= !this.identities.has(path);
            return row_of(this.identities.get(path) ?? identity_of(path), parts, this.formulas);
        });
        return { rows, news };
    }
}
