// SPDX-License-Identifier: Apache-2.0
// A tree as /api/v1/folded writes it, for flamegraph.pl and the like: a line for each stack,
// "comm;outermost;...;innermost SAMPLES", in the order of their bytes. Functions of the kernel end in "_[k]". A ";"
// within a name becomes ":".

const truncated = "[truncated]";
const most_text = 1 << 26; // characters

function text_of(node) {
    const name = node.name.replaceAll(";", ":").replace(/[\u0000-\u001f]/g, "?");

    if (node.kind === "process")
        return name.replaceAll(" ", "_");
    return node.kind === "kernel" ? `${name}_[k]` : name;
}

// As the bytes of UTF-8 are in order, which is that of the code points.
function order(a, b) {
    let i = 0;

    while (i < a.length && a[i] === b[i])
        i++;
    return (a.codePointAt(i) ?? -1) - (b.codePointAt(i) ?? -1);
}

function write(lines, lumped) {
    const sorted = [...lines].sort(([a], [b]) => order(a, b)).map(([line, weight]) => `${line} ${weight}\n`);

    return sorted.join("") + (lumped > 0 ? `${truncated} ${lumped}\n` : "");
}

// Samples in "(other)" are in the line "[truncated]", as those that the daemon has no room for, and so are those whose
// lines would make the text longer than can be held.
export function folded(tree) {
    const lines = new Map(), waiting = [[tree.root, ""]];
    let lumped = 0, size = 0;

    while (waiting.length > 0) {
        const [node, line] = waiting.pop();
        size += node.self > 0 ? line.length : 0;
        if (node.self > 0 && (node.kind === "other" || size > most_text))
            lumped += node.self;
        else if (node.self > 0 && line !== "")
            lines.set(line, (lines.get(line) ?? 0) + node.self);
        for (const child of node.children?.values() ?? [])
            waiting.push([child, line === "" ? text_of(child) : `${line};${text_of(child)}`]);
    }
    return write(lines, lumped);
}
