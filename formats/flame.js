// SPDX-License-Identifier: Apache-2.0
// The script of a self-contained flame graph (formats/flame.c): search, zoom, and keys. Frames are in call order: a
// frame precedes the frames that it calls, which are ordered from left to right. Names come from untrusted sources, so
// they are only ever set as text.
"use strict";

const width = 1200, margin = 10, head = 52, row = 18, letter = 7.3; // pixels, as in formats/flame.c
const narrowest = 0.3;
const longestPattern = 500;

// Returns the name in a title such as "NAME: 12 samples, 1.20 %".
function nameOf(title) {
    return title.slice(0, title.lastIndexOf(": "));
}

// Returns as much of the name as fits into the given width.
function label(name, pixels) {
    const room = Math.floor((pixels - 6) / letter), characters = [...name];

    if (room < 3)
        return "";
    return characters.length <= room ? name : `${characters.slice(0, room - 1).join("")}\u2026`;
}

// Returns whether a frame calls `view`, directly or indirectly.
function isAbove(frame, view) {
    return frame.depth < view.depth && frame.at <= view.at && frame.at + frame.n >= view.at + view.n;
}

// Returns where a frame is drawn when the graph is zoomed to the frame `view`: {x, pixels, above}, or null if it is not
// drawn.
function place(frame, view) {
    const all = width - 2 * margin;

    if (isAbove(frame, view))
        return { x: margin, pixels: all, above: true };
    if (frame.depth < view.depth || frame.at < view.at || frame.at + frame.n > view.at + view.n)
        return null;
    const scale = view.n > 0 ? all / view.n : 0;
    const pixels = frame === view ? all : frame.n * scale;
    return pixels < narrowest ? null : { x: margin + (frame.at - view.at) * scale, pixels, above: false };
}

// Finds the frames that match a regular expression, ignoring case. Returns {matches, n, error}: the set of these
// frames, how many samples in `view` contain one of them, and a message or null. A sample is counted once, even if
// several of its frames match.
function search(frames, view, text) {
    const matches = new Set(), known = new Map();
    let pattern, n = 0, end = 0;

    try {
        if (text.length > longestPattern)
            throw new Error(`it is longer than ${longestPattern} characters`);
        pattern = text === "" ? null : new RegExp(text, "iu");
    } catch (error) {
        return { matches, n, error: error.message };
    }
    for (const frame of pattern ? frames : []) {
        if (!known.has(frame.name))
            known.set(frame.name, frame.depth > 0 && pattern.test(frame.name));
        if (!known.get(frame.name))
            continue;
        matches.add(frame);
        const from = Math.max(frame.at, view.at, end), to = Math.min(frame.at + frame.n, view.at + view.n);
        if (from < to) {
            n += to - from;
            end = to;
        }
    }
    return { matches, n, error: null };
}

function share(n, all) {
    return `${(all > 0 ? 100 * n / all : 0).toFixed(2)} %`;
}

// Returns the frame that an arrow key selects, or null if no frame lies in that direction. "ArrowDown" leads to the
// widest frame that `frame` calls.
function neighbour(frames, frame, key) {
    const inside = (one) => one.at >= frame.at && one.at + one.n <= frame.at + frame.n;

    if (key === "ArrowDown")
        return frames.filter((one) => one.depth === frame.depth + 1 && inside(one))
            .reduce((widest, one) => (widest === null || one.n > widest.n ? one : widest), null);
    if (key === "ArrowUp")
        return frames.findLast((one) => one.depth === frame.depth - 1 && isAbove(one, frame)) ?? null;
    const beside = frames.filter((one) => one.depth === frame.depth), i = beside.indexOf(frame);
    return beside[key === "ArrowLeft" ? i - 1 : i + 1] ?? null;
}

class Graph {
    constructor(root) {
        this.root = root;
        this.frames = [...root.querySelectorAll("#frames > g")].map((element) => this.read(element));
        this.view = this.chosen = this.frames[0];
        this.before = []; // the previous views, for the "Back" button
        this.text = "";
        this.byElement = new Map(this.frames.map((frame) => [frame.element, frame]));
        this.about = this.append(root, "text", { "class": "about", "x": margin, "y": 44, "aria-live": "polite" });
        this.result = this.append(root, "text", { "class": "result", "x": width - margin, "y": 44,
            "text-anchor": "end", "aria-live": "polite" });
        this.makeControls();
        const frames = root.querySelector("#frames");
        frames.addEventListener("click", (event) => this.onFrame(event, (frame) => this.zoom(frame)));
        frames.addEventListener("mouseover", (event) => this.onFrame(event, (frame) => this.show(frame)));
        frames.addEventListener("mouseout", () => this.show(this.chosen));
        root.ownerDocument.addEventListener("keydown", (event) => this.onKey(event));
        this.draw();
    }

    read(element) {
        const [title, rect, text] = element.children;

        return { element, rect, text, title: title.textContent, name: nameOf(title.textContent),
            at: Number(element.dataset.at), n: Number(element.dataset.n),
            depth: Math.round((rect.getAttribute("y") - head) / row) };
    }

    append(parent, name, attributes, space = "http://www.w3.org/2000/svg") {
        const element = parent.ownerDocument.createElementNS(space, name);

        for (const [key, value] of Object.entries(attributes))
            element.setAttribute(key, value);
        return parent.appendChild(element);
    }

    makeControls() {
        const html = "http://www.w3.org/1999/xhtml";
        const place = this.append(this.root, "foreignObject", { x: 770, y: 4, width: 420, height: 28 });
        const controls = this.append(place, "div", { class: "controls" }, html);
        const button = (name, act) => {
            const element = this.append(controls, "button", { type: "button" }, html);
            element.textContent = name;
            element.addEventListener("click", act);
            return element;
        };

        this.field = this.append(controls, "input",
            { type: "search", placeholder: "regular expression", "aria-label": "search" }, html);
        this.field.addEventListener("input", () => this.find(this.field.value));
        this.backButton = button("Back", () => this.back());
        this.resetButton = button("Reset", () => this.reset());
    }

    onFrame(event, act) {
        const frame = this.byElement.get(event.target.closest("g"));

        if (frame)
            act(frame);
    }

    onKey(event) {
        if (event.ctrlKey || event.altKey || event.metaKey)
            return;
        if (event.target === this.field) {
            if (event.key === "Escape" || event.key === "Enter")
                this.field.blur();
            return;
        }
        const acts = { "Enter": () => this.zoom(this.chosen), "Backspace": () => this.back(),
            "Escape": () => this.reset(), "/": () => this.field.focus() };
        if (event.target.localName === "button" && event.key === "Enter")
            return;
        if (event.key.startsWith("Arrow"))
            this.choose(neighbour(this.frames.filter((one) => one.placed), this.chosen, event.key));
        else if (Object.hasOwn(acts, event.key))
            acts[event.key]();
        else
            return;
        event.preventDefault();
    }

    choose(frame) {
        if (!frame)
            return;
        this.chosen.element.classList.remove("chosen");
        this.chosen = frame;
        frame.element.classList.add("chosen");
        frame.element.scrollIntoView({ block: "nearest", inline: "nearest" });
        this.show(frame);
    }

    zoom(frame) {
        if (frame === this.view)
            return;
        this.before.push(this.view);
        this.view = frame;
        this.draw();
        this.choose(frame);
    }

    back() {
        const left = this.view;

        this.view = this.before.pop() ?? this.frames[0];
        this.draw();
        this.choose(left.placed ? left : this.view);
    }

    reset() {
        this.before = [];
        this.view = this.frames[0];
        this.field.value = "";
        this.find("");
        this.choose(this.view);
    }

    find(text) {
        this.text = text;
        this.draw();
    }

    draw() {
        for (const frame of this.frames)
            this.drawFrame(frame);
        this.found = search(this.frames, this.view, this.text);
        for (const frame of this.frames)
            frame.element.classList.toggle("match", this.found.matches.has(frame));
        this.backButton.disabled = this.before.length === 0;
        this.result.textContent = this.text === "" ? "" : this.found.error
            ? label(`not a regular expression: ${this.found.error}`, width / 2)
            : `matches: ${share(this.found.n, this.view.n)}`;
    }

    drawFrame(frame) {
        const placed = frame.placed = place(frame, this.view), { element, rect, text } = frame;

        element.classList.toggle("hidden", !placed);
        element.classList.toggle("above", placed?.above ?? false);
        if (!placed)
            return;
        rect.setAttribute("x", placed.x.toFixed(1));
        rect.setAttribute("width", placed.pixels.toFixed(1));
        text.setAttribute("x", (placed.x + 3).toFixed(1));
        text.textContent = label(frame.name, placed.pixels);
    }

    // Describes a frame in one line of text.
    show(frame) {
        this.about.textContent = label(frame.title, width * 0.8);
    }
}

if (typeof document !== "undefined")
    new Graph(document.documentElement);
