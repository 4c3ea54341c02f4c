// SPDX-License-Identifier: Apache-2.0
// Canvases that are redrawn when their data changes, but only while they are visible. All canvases share one time
// budget per animation frame, since a page may have hundreds of them. The marker of a point in time is an element above
// the canvas, so that the chart is not redrawn when the marker moves.
import { element, write } from "./element.js";

const frameMs = 8; // time budget per animation frame, so that scrolling and zooming stay smooth
const drawings = new Map();
const waiting = new Set();
let observers = null;
let scheduled = 0;

function watch() {
    const redraw = () => {
        for (const drawing of drawings.values())
            drawing.request();
    };

    return {
        view: new IntersectionObserver((entries) => {
            for (const entry of entries)
                drawings.get(entry.target)?.see(entry.isIntersecting);
        }, { rootMargin: "100px" }),
        size: new ResizeObserver((entries) => {
            for (const entry of entries)
                drawings.get(entry.target)?.request();
        }),
        dark: matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw),
    };
}

// The browser runs this callback only while the page is visible.
function drawSome() {
    const end = performance.now() + frameMs;

    scheduled = 0;
    for (const drawing of waiting) {
        waiting.delete(drawing);
        drawing.draw();
        if (performance.now() > end)
            break;
    }
    if (waiting.size > 0)
        scheduled = requestAnimationFrame(drawSome);
}

export class Drawing {
    // `paint(context, width, height)` draws, in CSS pixels, on a canvas as large as the element. Even drawing nothing
    // takes a millisecond, so the canvas stays unused until isEmpty() returns false.
    constructor(root, paint, isEmpty = () => false) {
        Object.assign(this, { root, paint, isEmpty, seen: false });
        this.canvas = element("canvas", { width: 0, height: 0 });
        this.tip = element("span", { class: "tip" });
        this.cursor = element("div", { class: "cursor", hidden: true, "aria-hidden": "true" }, this.tip);
        root.append(this.canvas, this.cursor);
        drawings.set(root, this);
        observers ??= watch();
        observers.view.observe(root);
        observers.size.observe(root);
    }

    close() {
        this.seen = false;
        drawings.delete(this.root);
        waiting.delete(this);
        observers.view.unobserve(this.root);
        observers.size.unobserve(this.root);
    }

    // Frees the canvas of an element that is not visible.
    see(seen) {
        this.seen = seen;
        if (seen)
            this.request();
        else
            this.canvas.width = this.canvas.height = 0;
    }

    request() {
        if (!this.seen)
            return;
        waiting.add(this);
        scheduled ||= requestAnimationFrame(drawSome);
    }

    draw() {
        if (this.isEmpty() && !this.canvas.width)
            return;
        const { clientWidth: width, clientHeight: height } = this.root, scale = window.devicePixelRatio || 1;
        const wide = Math.round(width * scale), high = Math.round(height * scale);

        if (!width || !height)
            return;
        if (this.canvas.width !== wide || this.canvas.height !== high) {
            this.canvas.width = wide;
            this.canvas.height = high;
            this.canvas.style.width = `${width}px`;
            this.canvas.style.height = `${height}px`;
        }
        const context = this.canvas.getContext("2d");
        context.setTransform(scale, 0, 0, scale, 0, 0);
        context.clearRect(0, 0, width, height);
        this.style = getComputedStyle(this.root);
        this.paint(context, width, height);
    }

    // Returns the colour from a custom property of the style sheet. colour() may only be called while painting.
    colour(property) {
        return this.style.getPropertyValue(property).trim();
    }

    // Sets the font and colour of axis labels.
    font(context) {
        context.font = `11px ${this.style.fontFamily}`;
        context.fillStyle = this.colour("--quiet");
    }

    // Places the marker at the position `x`, with a text beside it. An `x` of null hides the marker.
    mark(x, text = "") {
        this.cursor.hidden = x === null;
        if (x === null)
            return;
        this.cursor.style.transform = `translateX(${Math.round(x)}px)`;
        this.cursor.classList.toggle("left", x > this.root.clientWidth / 2);
        this.tip.hidden = text === "";
        write(this.tip, text);
    }
}
