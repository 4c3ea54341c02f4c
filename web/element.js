// SPDX-License-Identifier: Apache-2.0
// Making elements. Strings become text, never HTML: names of processes, symbols and cgroups are written by strangers.

const svgNames = new Set(["svg", "path", "rect", "line", "g", "text"]);

// element("button", {type: "button", onclick: f, "aria-label": "Stop"}, "Stop", child...). A property whose value is
// null, undefined or false is left out; true is an empty attribute; on... is a listener.
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

// The children of a parent are these from now on.
export function replace(parent, ...children) {
    parent.replaceChildren(...children.flat().filter((child) => child !== null && child !== undefined));
}

// Writes text where it is another one, so that readers of the screen and selections are left alone.
export function write(node, text) {
    if (node.textContent !== text)
        node.textContent = text;
}

const bidirectional = /[\u0000-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/gu;

// A name as it can be shown in a line: controls, also those of writing direction, are written as their code points.
export function plain(name) {
    return String(name).replace(bidirectional, (one) => `\\u${one.codePointAt(0).toString(16).padStart(4, "0")}`);
}
