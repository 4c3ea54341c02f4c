// SPDX-License-Identifier: Apache-2.0
// Helpers that create elements. Strings become text nodes, never HTML: process, symbol and cgroup names are untrusted.

const svgNames = new Set(["svg", "path", "rect", "line", "g", "text"]);

// element("button", {type: "button", onclick: f, "aria-label": "Stop"}, "Stop", child...). A property whose value is
// null, undefined or false is omitted; the value true sets an empty attribute. A property whose name begins with "on"
// adds a listener.
export function element(name, properties = {}, ...children) {
    const made = svgNames.has(name) ? document.createElementNS("http://www.w3.org/2000/svg", name)
                                    : document.createElement(name);

    for (const [key, value] of Object.entries(properties ?? {})) {
        if (value === null || value === undefined || value === false)
            continue;
        if (key.startsWith("on"))
            made.addEventListener(key.slice(2), value);
        else
            made.setAttribute(key, value === true ? "" : String(value));
    }
    made.append(...children.flat().filter((child) => child !== null && child !== undefined));
    return made;
}

// Replaces all children of a node.
export function replace(parent, ...children) {
    parent.replaceChildren(...children.flat().filter((child) => child !== null && child !== undefined));
}

// Sets the text of a node only if it has changed, so that selections and screen readers are not disturbed.
export function write(node, text) {
    if (node.textContent !== text)
        node.textContent = text;
}

const bidirectional = /[\u0000-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/gu;

// Makes a name safe to show on one line: control characters, including bidirectional ones, are replaced by their code
// points.
export function plain(name) {
    return String(name).replace(bidirectional, (one) => `\\u${one.codePointAt(0).toString(16).padStart(4, "0")}`);
}
