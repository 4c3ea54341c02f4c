// SPDX-License-Identifier: Apache-2.0
// Exports a flame graph as a standalone SVG file without scripts. Names are untrusted and are escaped.
import { plain } from "../element.js";

const width = 1200, row = 18, margin = 10, head = 34, letter = 7.3; // sizes in pixels; letter: width of a character
const narrowest = 0.3, longestName = 400;
// Light and dark colours, the same as in formats/flame.css.
const colours = { all: ["#d8d8d8", "#4b545c"], process: ["#c5cad3", "#46505f"], state: ["#c5cad3", "#46505f"],
                  user: ["#f3b562", "#8a5a1a"], kernel: ["#8fb8de", "#2f5f8a"], other: ["#d8d8d8", "#4b545c"] };
const ink = ["#1a1a1a", "#f2f2f2"], paper = ["#fff", "#16191c"];
// Programs that ignore style sheets show the light colours, which are set as attributes of the elements.
const dark = "<style>svg { color-scheme: light dark } @media (prefers-color-scheme: dark) { " +
    `svg { fill: ${ink[1]} } .paper { fill: ${paper[1]} } ` +
    `${Object.entries(colours).map(([kind, [, fill]]) => `.${kind} rect { fill: ${fill} }`).join(" ")} }</style>\n`;

// Replaces characters that XML does not allow: controls, lone surrogates, U+FFFE and U+FFFF.
function escape(text) {
    return plain(text).replace(/[\ufffe\uffff]|\p{Cs}/gu, "\ufffd")
        .replace(/[&<>"']/g, (one) => `&#${one.charCodeAt(0)};`);
}

function percent(share) {
    return `${(100 * share).toFixed(2)} %`;
}

function cut(text, length) {
    const characters = [...text.slice(0, 2 * length)];

    return characters.length <= length ? characters.join("") : `${characters.slice(0, length - 1).join("")}…`;
}

// Shortens a name to the available width.
function label(name, pixels) {
    const room = Math.floor((pixels - 6) / letter);

    return room < 3 ? "" : cut(plain(name), room);
}

function frameText(node, x, y, pixels, { total, isTime }) {
    const module = node.module ? ` (${cut(node.module, longestName)})` : "";
    const share = percent(total > 0 ? node.total / total : 0);
    const weight = isTime ? `${(node.total / 1e6).toFixed(1)} ms`
                          : `${node.total} sample${node.total === 1 ? "" : "s"}`;
    const title = `${cut(node.name, longestName)}${module}: ${weight}, ${share}`;
    const text = label(node.name, pixels);

    return `<g class="${node.kind}"><title>${escape(title)}</title>` +
        `<rect x="${x.toFixed(1)}" y="${y}" width="${pixels.toFixed(1)}" height="${row - 1}"` +
        ` fill="${colours[node.kind][0]}"/>` +
        (text ? `<text x="${(x + 3).toFixed(1)}" y="${y + 13}">${escape(text)}</text>` : "") + "</g>\n";
}

// Returns the frames that are wide enough to be visible, [{node, x, pixels}], and their greatest depth.
function layout(tree) {
    const waiting = [{ node: tree.root, x: margin, pixels: width - 2 * margin }], frames = [];
    let depth = 0;

    while (waiting.length > 0) {
        const frame = waiting.pop();
        let x = frame.x;

        frames.push(frame);
        depth = Math.max(depth, frame.node.depth);
        const children = [...frame.node.children?.values() ?? []].sort((a, b) => (a.name < b.name ? -1 : 1));
        for (const node of children) {
            const pixels = frame.pixels * (frame.node.total > 0 ? node.total / frame.node.total : 0);
            if (pixels >= narrowest)
                waiting.push({ node, x, pixels });
            x += pixels;
        }
    }
    return { frames, depth };
}

// Returns the text of the SVG file. The outermost frames are at the bottom, or at the top with `icicle`.
export function svg(tree, { icicle = false, title = "Flame graph" } = {}) {
    const { frames, depth } = layout(tree);
    const height = head + (depth + 1) * row + margin;
    const yOf = (node) => (icicle ? head + node.depth * row : height - margin - (node.depth + 1) * row);

    return '<?xml version="1.0" encoding="UTF-8"?>\n' +
        `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}"` +
        ` font-family="monospace" font-size="12" fill="${ink[0]}">\n${dark}` +
        `<title>${escape(title)}</title>\n<rect class="paper" width="100%" height="100%" fill="${paper[0]}"/>\n` +
        `<text x="${margin}" y="22" font-size="15">${escape(label(title, 0.8 * width))}</text>\n` +
        frames.map(({ node, x, pixels }) => frameText(node, x, yOf(node), pixels, tree)).join("") + "</svg>\n";
}

// --- Exports a tree in the folded format of /api/v1/folded, for tools such as flamegraph.pl: a line for each stack,
// "comm;outermost;...;innermost SAMPLES", sorted by byte values. Kernel functions end in "_[k]". A ";" within a name
// becomes ":". For off-CPU time, a line is "state;comm;outermost;...;innermost MICROSECONDS".

const truncated = "[truncated]";
const mostText = 1 << 26; // characters

function textOf(node) {
    const name = node.name.replaceAll(";", ":").replace(/[\u0000-\u001f]/g, "?");

    if (node.kind === "process")
        return name.replaceAll(" ", "_");
    return node.kind === "kernel" ? `${name}_[k]` : name;
}

// Compares strings by the bytes of their UTF-8 encoding, which is the order of their code points.
function order(a, b) {
    let i = 0;

    while (i < a.length && a[i] === b[i])
        i++;
    return (a.codePointAt(i) ?? -1) - (b.codePointAt(i) ?? -1);
}

function write(lines, lumped, isTime) {
    const sorted = [...lines].sort(([a], [b]) => order(a, b)).concat([[truncated, lumped]]);

    return sorted.map(([line, weight]) => [line, isTime ? Math.round(weight / 1000) : weight])
        .filter(([, weight]) => weight > 0).map(([line, weight]) => `${line} ${weight}\n`).join("");
}

// Samples in "(other)" go to the line "[truncated]", which the daemon uses for stacks beyond its limits. Stacks that
// would make the text too long for a string also go to this line.
export function folded(tree) {
    const lines = new Map(), waiting = [[tree.root, ""]];
    let lumped = 0, size = 0;

    while (waiting.length > 0) {
        const [node, line] = waiting.pop();
        size += node.self > 0 ? line.length : 0;
        if (node.self > 0 && (node.kind === "other" || size > mostText))
            lumped += node.self;
        else if (node.self > 0 && line !== "")
            lines.set(line, (lines.get(line) ?? 0) + node.self);
        for (const child of node.children?.values() ?? [])
            waiting.push([child, line === "" ? textOf(child) : `${line};${textOf(child)}`]);
    }
    return write(lines, lumped, tree.isTime);
}
