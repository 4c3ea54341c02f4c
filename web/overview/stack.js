// SPDX-License-Identifier: Apache-2.0
// Who used the CPUs: the busiest services, and the bands of a chart that stacks them. Pure.

const share = 0.5; // of a cgroup's time, from which on those inside of it stand for it

// The nearest of the paths above one, or null.
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

// The paths that are inside no other one.
export function outermost(paths) {
    const all = new Set(paths);

    return [...all].filter((path) => above(path, all) === null);
}

// The `n` busiest services: [{path, cpus}], no one inside another, so that they can be added up. `usage` has the CPUs
// that each cgroup used, which include those of all below it. A slice stands for itself only where what is counted
// inside of it explains less than half of its time; the root never does.
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

const known = (value) => value > 0 ? value : 0; // nothing is stacked for what is not known

// The bands of each step: `services` are arrays of the CPUs that each used, `total` of all that was used, or null.
// {bands: those of the services and of the others, sums, gaps: whether nothing is known of a step}
export function stack(services, total, seconds) {
    const sums = seconds.map((_, i) => services.reduce((sum, values) => sum + known(values[i]), 0));
    const others = sums.map((sum, i) => Math.max(0, known(total?.[i]) - sum));
    const gaps = seconds.map((one, i) => !(one > 0) ||
        [...services, total ?? []].every((values) => !Number.isFinite(values[i])));

    return { bands: [...services.map((values) => values.map(known)), others], gaps,
             sums: sums.map((sum, i) => sum + others[i]) };
}
