// SPDX-License-Identifier: Apache-2.0
// Converts the answers of the daemon to rows of the table. All groups and PMUs of a cgroup form one row, whose title is
// the name by which people know the cgroup.
import { plain } from "../element.js";

const ids = /[0-9a-f]{64}/g, longest = 120;

// Shortens a path or a name to one line: long ids keep only their first characters, and long text is cut in the middle.
export function shortText(path) {
    const text = plain(path.replace(ids, (id) => `${id.slice(0, 12)}…`));
    const characters = [...text.slice(0, 10000)];

    return characters.length <= longest ? text
        : `${characters.slice(0, 50).join("")} … ${[...text.slice(-200)].slice(-60).join("")}`;
}

// The names in an entry of /api/v1/cgroups, with a description of each.
export const kinds = new Map([
    ["container", "The container"],
    ["image", "The image of the container"],
    ["pod", "The Kubernetes pod"],
    ["namespace", "The Kubernetes namespace"],
    ["compose_project", "The Compose project"],
    ["compose_service", "The Compose service"],
    ["runtime", "The container runtime"],
    ["unit", "The systemd unit"],
    ["slice", "The systemd slice"],
    ["container_id", "The ID of the container"],
    ["description", "The description of the systemd unit"],
]);

// isAlone(title) returns whether no other cgroup has this title. If another cgroup has the same title, the path is
// appended to the title.
function identityOf(entry, isAlone = () => true) {
    const path = entry.cgroup, name = entry.name || path, title = shortText(name);
    const names = new Map([...kinds.keys()].filter((kind) => entry[kind]).map((kind) => [kind, entry[kind]]));

    return { entry, path, name, names, state: entry.state ?? "watched",
             title: isAlone(title) ? title : `${title} ${shortText(path)}` };
}

// Converts an entry of `totals`, i.e. one group of a cgroup on all of the group's PMUs, to the share of time that the
// group was counted, and its values by name.
function groupOf(total, formulas) {
    const { running_ratio, ...metrics } = total.ratios;
    const starved = running_ratio === 0 && Object.values(total.events).every((value) => value === null);
    const values = new Map(Object.entries({ ...total.events, ...metrics }));

    if (starved)
        for (const [metric, { formulas: all }] of formulas)
            if (all.some((one) => one.events.every((event) => values.has(event))))
                values.set(metric, null);
    return { name: total.group, pmus: total.pmus, share: running_ratio ?? null, starved, values };
}

// Returns whether one value is better than another value of the same event: only it is known, or its group was counted
// for longer.
function better(one, other) {
    if (one.value === null || other.value === null)
        return one.value !== null;
    return (one.share ?? 0) > (other.share ?? 0);
}

function rowOf(identity, totals, formulas) {
    const groups = totals.map((one) => groupOf(one, formulas));
    const shares = groups.map((group) => group.share).filter((share) => share !== null);
    const values = new Map();

    for (const group of groups)
        for (const [name, value] of group.values) {
            const one = { value, share: group.share, starved: group.starved };
            if (!values.has(name) || better(one, values.get(name)))
                values.set(name, one);
        }
    return { key: identity.path, ...identity, groups, values, share: shares.length ? Math.min(...shares) : null };
}

export class Cgroups {
    constructor() {
        this.identities = new Map();
        this.formulas = null; // name of a metric → its entry in /api/v1/metrics
        this.document = { cgroups: [] };
    }

    // Stores the document of /api/v1/cgroups.
    learn(document) {
        const times = new Map();

        for (const one of document.cgroups) {
            const { title } = identityOf(one);
            times.set(title, 1 + (times.get(title) ?? 0));
        }
        this.document = document;
        this.identities = new Map(document.cgroups.map((one) =>
            [one.cgroup, identityOf(one, (title) => times.get(title) === 1)]));
    }

    // Stores the document of /api/v1/metrics.
    learnMetrics(document) {
        this.formulas = new Map(document.metrics.filter((one) => one.collectors.includes("cgroup"))
            .map((one) => [one.name, one]));
    }

    get dropped() {
        return [...this.identities.values()].filter((one) => one.state === "dropped");
    }

    // Returns the rows for an answer of /api/v1/rates, and whether it contains cgroups that the last document of
    // /api/v1/cgroups lacks.
    rows(answer) {
        const cgroups = new Map();
        let news = false;

        for (const total of answer.totals)
            if (cgroups.has(total.cgroup))
                cgroups.get(total.cgroup).push(total);
            else
                cgroups.set(total.cgroup, [total]);
        const rows = [...cgroups].map(([path, totals]) => {
            news ||= !this.identities.has(path);
            return rowOf(this.identities.get(path) ?? identityOf({ cgroup: path }), totals, this.formulas ?? new Map());
        });
        return { rows, news };
    }
}

// --- The filter: part of a name, or a pattern with the syntax of the daemon's parameter `cgroup`.

// Returns whether a pattern matches a whole text: * matches any characters but /, ** any characters, ? one character
// but /. The run time is at most proportional to the product of both lengths: after a mismatch, matching resumes at the
// last * or, if that cannot match more, at the last **.
export function glob(pattern, text) {
    let p = 0, t = 0, star = null, stars = null;

    while (t < text.length) {
        if (pattern[p] === "*") {
            const both = pattern[p + 1] === "*";
            p += both ? 2 : 1;
            if (both)
                [stars, star] = [{ p, t }, null];
            else
                star = { p, t };
        } else if (p < pattern.length && (pattern[p] === text[t] || (pattern[p] === "?" && text[t] !== "/"))) {
            p++;
            t++;
        } else {
            const back = star && text[star.t] !== "/" ? star : stars;
            if (!back)
                return false;
            if (back === stars)
                star = null;
            t = ++back.t;
            p = back.p;
        }
    }
    return /^\**$/.test(pattern.slice(p));
}

// Returns a function that tests a cgroup, an object from identityOf(). Text without * and ? matches part of the path or
// of a name, in upper or lower case. A pattern without / is compared only with the last component of the path and of
// each name. "container=web*" is compared only with the name of the container.
export function filterOf(text) {
    const wanted = text.trim(), [, kind, pattern] = /^(\w+)=(.*)$/.exec(wanted) ?? [];
    const all = (one) => [one.path, one.name, ...one.names.values()];
    const matches = (pattern, name) =>
        glob(pattern, pattern.includes("/") ? name : name.slice(name.lastIndexOf("/") + 1));

    if (kinds.has(kind))
        return (one) => one.names.has(kind) && matches(pattern, one.names.get(kind));
    if (/[*?]/.test(wanted))
        return (one) => all(one).some((name) => matches(wanted, name));
    const part = wanted.toLowerCase();
    return (one) => all(one).some((name) => name.toLowerCase().includes(part));
}
