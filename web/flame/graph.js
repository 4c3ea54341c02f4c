// SPDX-License-Identifier: Apache-2.0
// The flame graph: draws a tree of stacks on a canvas, with zoom, search and differences.
import { element, write } from "../element.js";
import { listenToKeys, listenToPointer } from "./input.js";
import { Layout } from "./layout.js";
import { dim, grey, hex } from "./colours.js";
import { Painter, change, rowHeight } from "./painter.js";
import { Tip, legend, sentence, weight } from "./tip.js";
import { isSure } from "./tree.js";
import { Zoom, follow, pathOf } from "./zoom.js";

const help = "Arrow keys move to callers, callees and neighbouring frames. Enter zooms in, Escape zooms out, Home " +
    "shows everything. The table of functions has the same numbers.";
const smallestLimit = 0.005;
let graphs = 0;

export class FlameGraph {
    // onZoom(names) is called when the user zooms to a path of names, onHover(node or null) when the pointer moves to
    // another frame. describe(node) returns a node's weight in words.
    constructor(container, { onZoom = () => {}, onHover = () => {}, describe = weight } = {}) {
        const id = `flame-help-${++graphs}`;

        Object.assign(this, { container, onZoom, onHover, describe });
        this.canvas = element("canvas", { tabindex: "0", role: "application", "aria-roledescription": "flame graph",
                                          "aria-label": "Flame graph", "aria-describedby": id });
        this.canvas.flame = this; // for tests
        this.sizer = element("div", {}, this.canvas);
        this.scroller = element("div", { class: "flame-scroll" }, this.sizer);
        this.status = element("p", { class: "unseen", role: "status" });
        this.key = element("p", { class: "flame-legend" });
        container.classList.add("flame");
        container.append(this.scroller, this.key, element("p", { class: "unseen", id }, help), this.status);
        this.tip = new Tip(container);
        this.layout = new Layout();
        this.zoom = new Zoom(this.layout);
        this.painter = new Painter(this.canvas);
        Object.assign(this, { tree: null, flame: false, difference: false, matches: null, hovered: null, focused: null,
                              rows: 0, limit: 0, width: 0, stale: false, scheduled: 0, spent: { layout: 0, draw: 0 } });
        this.listen();
    }

    listen() {
        const dark = matchMedia("(prefers-color-scheme: dark)"), repaint = () => this.repaint();

        this.still = matchMedia("(prefers-reduced-motion: reduce)");
        this.observer = new ResizeObserver(() => this.measure());
        this.observer.observe(this.scroller);
        dark.addEventListener("change", repaint);
        this.forget = () => dark.removeEventListener("change", repaint);
        this.scroller.addEventListener("scroll", () => this.request());
        listenToKeys(this);
        listenToPointer(this);
    }

    close() {
        this.forget();
        this.observer.disconnect();
        cancelAnimationFrame(this.scheduled);
        this.container.replaceChildren();
    }

    // Shows a tree. Zoom, focus and scroll position are kept, because the tree may be an update of the previous one.
    setTree(tree) {
        if (tree.root !== this.tree?.root)
            this.rows = 0;
        this.focused = follow(tree.root, pathOf(this.focused));
        this.hovered = this.hovered && follow(tree.root, pathOf(this.hovered));
        this.tree = tree;
        this.layout.change();
        this.zoom.settle(tree.root);
        if (this.hovered)
            this.tip.write(this.hovered, this.state());
        this.limit = 0;
        this.relay();
    }

    // Highlights `matches`, the nodes that a search has found, or ends the search if `matches` is null.
    setSearch(matches) {
        this.matches = matches;
        this.explain();
    }

    setShape(shape) {
        this.flame = shape === "flame";
        this.scroller.scrollTop = this.flame ? this.scroller.scrollHeight : 0;
        if (this.tree)
            this.reveal(this.zoom.node);
        this.request();
    }

    // Turns the colours of differences on or off. The tree must then be a result of difference().
    setDifference(on) {
        this.difference = on;
        this.limit = 0;
        this.explain();
    }

    // Zooms to a path of names below the root. If the tree contains only the beginning of the path, the graph zooms
    // further once a later tree contains the rest.
    zoomTo(names) {
        if (names.join("\n") !== this.zoom.path.map((one) => one.name).join("\n"))
            this.move(names.map((name) => ({ name })));
    }

    // Zooms to a frame at the user's request.
    zoomBy(node) {
        if (node === this.zoom.node || !(node.total > 0))
            return;
        this.move(pathOf(node));
        this.reveal(node);
        this.onZoom(pathOf(node).map((one) => one.name));
    }

    zoomOut(node) {
        this.focused = this.zoom.node;
        this.zoomBy(node);
        this.focus(node);
    }

    move(path) {
        this.tip.hide();
        if (!this.tree) {
            this.zoom.path = path;
            return;
        }
        this.zoom.ask(this.tree.root, path, !this.still.matches && this.width > 0);
        this.relay();
    }

    relay() {
        this.stale = true;
        this.request();
    }

    repaint() {
        this.painter.colours.load();
        this.request();
    }

    explain() {
        legend(this.key, this.difference ? this.strongest() : 0, this.matches !== null);
        this.request();
    }

    // The browser runs this callback only while the page is visible.
    request() {
        this.scheduled ||= requestAnimationFrame((now) => this.draw(now));
    }

    draw(now) {
        this.scheduled = 0;
        if (!this.tree || this.width <= 0)
            return;
        const begin = performance.now();
        const moving = this.zoom.step(now);
        if (this.stale || moving) {
            this.layout.lay(this.tree.root, this.zoom, this.width);
            this.stale = moving;
            this.grow();
        }
        const laid = performance.now();
        this.painter.paint(this.layout, this.view(moving));
        this.spent = { layout: laid - begin, draw: performance.now() - laid };
        if (moving)
            this.request();
    }

    view(moving = false) {
        const hasFocus = document.activeElement === this.canvas;

        return { flame: this.flame, rows: this.rows, scroll: this.scroller.scrollTop, matches: this.matches, moving,
                 grey: [this.tree.root, ...pathOf(this.zoom.node)].slice(0, -1),
                 change: this.difference ? this.strongest() : 0, hover: this.hovered,
                 focus: hasFocus ? this.focused : null };
    }

    // Returns the largest difference among the frames that are visible without zoom.
    strongest() {
        if (this.limit || !this.tree || this.width <= 0)
            return this.limit || smallestLimit;
        const whole = new Layout();

        whole.lay(this.tree.root, { from: 0, to: 1 }, this.width);
        this.limit = smallestLimit;
        for (const node of whole.nodes)
            if (isSure(change(node), node.error))
                this.limit = Math.max(this.limit, Math.abs(change(node)));
        legend(this.key, this.limit, this.matches !== null);
        return this.limit;
    }

    // While the graph is shown, it never shrinks, so that the content below it does not jump.
    grow() {
        if (this.layout.rows > this.rows) {
            this.rows = this.layout.rows;
            this.place();
        }
    }

    // The canvas covers only the visible part of the graph, and stays in place while the graph scrolls.
    place() {
        const { scroller } = this, below = scroller.scrollHeight - scroller.scrollTop;

        this.sizer.style.height = `${this.rows * rowHeight}px`;
        if (this.flame)
            scroller.scrollTop = scroller.scrollHeight - below;
        this.measure();
    }

    measure() {
        const { clientWidth: width, clientHeight: height } = this.scroller;

        if (width !== this.width)
            this.stale = true;
        this.width = width;
        this.painter.resize(width, Math.min(height, this.rows * rowHeight), window.devicePixelRatio);
        if (this.key.childElementCount === 0)
            this.explain();
        this.request();
    }

    // Scrolls until a frame is visible.
    reveal(node) {
        const row = pathOf(node).length, { scroller } = this;
        const top = (this.flame ? this.rows - 1 - row : row) * rowHeight;

        if (top < scroller.scrollTop || top + rowHeight > scroller.scrollTop + scroller.clientHeight)
            scroller.scrollTop = top - scroller.clientHeight / 2;
    }

    nodeAt(x, y) {
        const i = this.tree ? this.layout.at(x, this.painter.rowAt(y, this.view())) : -1;

        return i < 0 ? null : this.layout.nodes[i];
    }

    // Returns whether a frame is wide enough to be drawn once the zoom has finished.
    isSeen(node) {
        return node.total * this.width >= 0.5 * this.zoom.node.total;
    }

    state() {
        return { root: this.tree.root, zoomed: this.zoom.node, describe: this.describe, difference: this.difference };
    }

    // Called when the pointer moves to a frame, or leaves all frames.
    point(node, event) {
        if (node !== this.hovered) {
            this.hovered = node;
            this.onHover(node);
            this.request();
        }
        if (!node) {
            this.tip.hide();
            return;
        }
        this.tip.write(node, this.state());
        this.tip.show(event.offsetX, this.canvas.offsetTop - this.scroller.scrollTop + event.offsetY);
    }

    // Moves the keyboard focus to a frame.
    focus(node) {
        if (!this.tree)
            return;
        this.focused = node ?? this.tree.root;
        this.reveal(this.focused);
        write(this.status, sentence(this.focused, pathOf(this.focused).length, this.state()));
        this.request();
    }

    // Returns the frames of the layout, for tests. Positions and sizes are in CSS pixels, relative to the canvas.
    frames() {
        if (!this.tree)
            return [];
        const view = this.view(), { painter, layout } = this;

        return Array.from({ length: layout.length }, (_, i) => {
            const node = layout.nodes[i], row = layout.row[i], colour = painter.colour(node, row, view);
            const begin = painter.begin(layout, i), end = painter.end(layout, i), { scale } = painter;

            return { name: node.name, kind: node.kind, module: node.module, share: node.total / this.tree.root.total,
                     x: begin / scale, width: (end - begin) / scale, row, y: painter.top(row, view) / scale,
                     height: painter.high / scale, colour: hex(painter.colours.colours[colour]),
                     dim: colour >= dim && colour < grey, grey: colour >= grey };
        });
    }
}
