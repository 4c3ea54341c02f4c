// SPDX-License-Identifier: Apache-2.0
// Determines the busiest services, and computes the bands of the stacked chart. Pure functions.

const share = 0.5; // a cgroup is replaced with its children if they use at least this share of its CPU time

// Returns the nearest ancestor of a path among `paths`, or null.
function above(path, paths) {
    for (let at = path.lastIndexOf("/"); path !== "/" && at >= 0; at = path.lastIndexOf("/", at - 1)) {
        const parent = path.slice(0, at) || "/";
        if (paths.has(parent))
            return parent;
        if (at === 0)
            break;
    }
    return null;
}

// Returns the paths that have no ancestor among `paths`.
export function outermost(paths) {
    const all = new Set(paths);

    return [...all].filter((path) => above(path, all) === null);
}

// Returns the `n` busiest services, [{path, cpus}]. No service contains another one, so their values can be added up.
// `usage` maps each cgroup to the CPUs that it used, including its descendants. A slice is listed only if its counted
// children use less than half of its CPU time; the root cgroup is never listed.
export function busiest(usage, n) {
    const inside = new Map([...usage.keys()].map((path) => [path, []])), found = [];

    for (const path of usage.keys())
        inside.get(above(path, usage))?.push(path);
    const visit = (path) => {
        const parts = inside.get(path), sum = parts.reduce((all, part) => all + (usage.get(part) || 0), 0);

        if (path === "/" || sum > 0 && sum >= share * (usage.get(path) || 0))
            parts.forEach(visit);
        else if (usage.get(path) > 0)
            found.push({ path, cpus: usage.get(path) });
    };

    outermost(usage.keys()).forEach(visit);
    return found.sort((a, b) => b.cpus - a.cpus || (a.path < b.path ? -1 : 1)).slice(0, n);
}

const known = (value) => value > 0 ? value : 0; // unknown values are stacked as 0

// Computes the bands. `services` are arrays of the CPUs that each service used in each step, `total` is the array of
// all CPUs in use, or null. Returns {bands: one for each service and one for the others; sums; gaps: true for steps
// without any value}.
export function stack(services, total, seconds) {
    const sums = seconds.map((_, i) => services.reduce((sum, values) => sum + known(values[i]), 0));
    const others = sums.map((sum, i) => Math.max(0, known(total?.[i]) - sum));
    const gaps = seconds.map((one, i) => !(one > 0) ||
        [...services, total ?? []].every((values) => !Number.isFinite(values[i])));

    return { bands: [...services.map((values) => values.map(known)), others], gaps,
             sums: sums.map((sum, i) => sum + others[i]) };
}
