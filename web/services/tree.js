// SPDX-License-Identifier: Apache-2.0
// Arranges cgroups in a tree, with pure functions on rows, which have a `path`; see cgroups.js.

// Returns the nearest ancestor of a path among the rows.
function above(path, byPath) {
    for (let end = path.lastIndexOf("/"); end >= 0 && path !== "/"; end = path.lastIndexOf("/", end - 1)) {
        const found = byPath.get(path.slice(0, end) || "/");
        if (found)
            return found;
        if (end === 0)
            break;
    }
    return null;
}

// Sets `parent` (or null), `children` and `depth` of each row. If the parent of a cgroup is not counted, its nearest
// counted ancestor is used.
export function nest(rows) {
    const byPath = new Map(rows.map((row) => [row.path, row]));

    for (const row of rows)
        Object.assign(row, { parent: above(row.path, byPath), children: [], depth: 0 });
    for (const row of rows)
        row.parent?.children.push(row);
    for (const row of visit(rows.filter((one) => !one.parent), (one) => one.children))
        row.depth = row.parent ? row.parent.depth + 1 : 0;
    return rows;
}

// Visits each row before its descendants.
function visit(roots, childrenOf) {
    const waiting = [...roots].reverse(), visited = [];

    while (waiting.length > 0) {
        const row = waiting.pop();
        visited.push(row);
        waiting.push(...[...childrenOf(row)].reverse());
    }
    return visited;
}

// Returns nested rows in display order: `sort` orders siblings, and descendants of folded rows are left out.
export function flatten(rows, sort, isFolded) {
    const shown = new Set(rows);
    const childrenOf = (row) => isFolded(row) ? [] : sort(row.children.filter((one) => shown.has(one)));

    return visit(sort(rows.filter((row) => !shown.has(row.parent))), childrenOf);
}

// Returns the matching rows together with their ancestors.
export function withAncestors(rows, isMatch) {
    const wanted = new Set();

    for (const row of rows)
        if (isMatch(row))
            for (let at = row; at && !wanted.has(at); at = at.parent)
                wanted.add(at);
    return rows.filter((row) => wanted.has(row));
}

// --- The folded rows in the URL: "fold=/a.slice,/b.slice", or "fold=all&unfold=/a.slice".

const longest = 1500; // maximum length of a list in the URL, in characters

function listOf(text) {
    return (text ?? "").split(",").filter(Boolean).map((one) => one.replace(/%(25|2C)/gi, decodeURIComponent));
}

function textOf(paths) {
    const text = [...paths].map((path) => path.replace(/[%,]/g, encodeURIComponent)).join(",");

    return text.length > longest ? "" : text;
}

export class Folds {
    // `parameters` are the parameters of the URL.
    constructor(parameters) {
        this.all = parameters.get("fold") === "all";
        this.others = new Set(listOf(parameters.get(this.all ? "unfold" : "fold")));
    }

    has(path) {
        return this.all !== this.others.has(path);
    }

    toggle(path) {
        if (!this.others.delete(path))
            this.others.add(path);
    }

    setAll(all) {
        this.all = all;
        this.others.clear();
    }

    get parameters() {
        return this.all ? { fold: "all", unfold: textOf(this.others) } : { fold: textOf(this.others), unfold: "" };
    }
}
