// SPDX-License-Identifier: Apache-2.0
// Small line charts of a History. Chart.js draws them: 2.9 and 3.9, as distributions package it. It is loaded when the
// first line is looked at; a page that was built without it has numbers only.
import { element } from "./element.js";
import { timeOf } from "./numbers.js";

const turnMs = 24, pauseMs = 16; // hundreds of lines are drawn in turns, so that they hold nothing up
const nearestSeconds = 5, shortestSpan = 60, leastPixels = 1.5;
const timePx = 110; // of a time of day at the axis, with room beside it

let library = null;         // the promise that Chart will be there, or not
let loaded = false;
let report = null;          // who wants to know that there is no library
let missing = false;
const lines = new Map();    // by element
const waiting = new Set();  // lines to draw soon
let observers = null;

function script(url) {
    return new Promise((resolve) => {
        const onload = () => resolve(true), onerror = () => resolve(false);

        document.head.append(element("script", { src: url, onload, onerror }));
    });
}

async function load() {
    const url = new URL("chart.js", import.meta.url).href;

    if (!globalThis.Chart && !await script(url)) {
        const status = await fetch(url, { method: "HEAD" }).then((response) => response.status, () => 0);
        if (status === 404)
            noLibrary();
        else
            library = null; // the daemon was away: again with the next line
        return false;
    }
    // 2.9 would write a style sheet into the page, which its policy forbids.
    if (Chart.platform && "disableCSSInjection" in Chart.platform)
        Chart.platform.disableCSSInjection = true;
    loaded = true;
    return true;
}

function noLibrary() {
    missing = true;
    document.documentElement.classList.add("no-lines");
    report?.();
}

// Calls back once, now or later, if this page was built without the library.
export function onMissingLibrary(callback) {
    report = callback;
    if (missing)
        callback?.();
}

function isOld() {
    return !Chart.registry; // 2.9
}

function scaleOf(line, axis) {
    const range = axis === "x" ? { min: -line.span(), max: 0 } : { min: line.min, max: line.max };
    const ticks = { maxTicksLimit: 5, color: line.colour("--quiet"), fontColor: line.colour("--quiet"),
        callback: (value) => axis === "x" ? line.timeOf(value) : line.text(value) };
    const grid = { color: line.colour("--rule"), drawBorder: false };

    if (axis === "x")
        Object.assign(ticks, { maxRotation: 0,
                               maxTicksLimit: Math.max(2, Math.floor(line.element.clientWidth / timePx)) });
    if (isOld())
        return { type: "linear", display: line.axes, ticks: { ...ticks, ...range, beginAtZero: axis === "y" },
            gridLines: grid };
    return { type: "linear", display: line.axes, ...range, beginAtZero: axis === "y", ticks, grid };
}

function optionsOf(line) {
    const x = scaleOf(line, "x"), y = scaleOf(line, "y"), shared = { responsive: false, events: [] };

    if (isOld())
        return { ...shared, animation: { duration: 0 }, hover: { animationDuration: 0 }, responsiveAnimationDuration: 0,
            legend: { display: false }, tooltips: { enabled: false }, scales: { xAxes: [x], yAxes: [y] } };
    return { ...shared, animation: false, parsing: false, normalized: true, layout: { padding: 1 },
        plugins: { legend: { display: false }, tooltip: { enabled: false } }, scales: { x, y } };
}

function watchers() {
    const redraw = () => {
        for (const line of lines.values())
            line.restart();
    };

    observers ??= {
        view: new IntersectionObserver((entries) => {
            for (const entry of entries)
                lines.get(entry.target)?.see(entry.isIntersecting);
        }, { rootMargin: "100px" }),
        size: new ResizeObserver((entries) => {
            for (const entry of entries)
                lines.get(entry.target)?.fit();
        }),
        dark: matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw),
    };
    return observers;
}

function drawSome() {
    const end = performance.now() + turnMs;

    for (const line of waiting) {
        waiting.delete(line);
        line.draw();
        if (performance.now() > end)
            break;
    }
    if (waiting.size)
        setTimeout(drawSome, pauseMs);
}

function drawSoon(line) {
    if (waiting.size === 0)
        setTimeout(drawSome);
    waiting.add(line);
}

// The line of the values that a History has of `name`. `line.element` goes into the document; update() after values
// were added; close() when it is not needed any more.
export class Line {
    // `label` says what it is; `text(value)` writes a value; `min` and `max` are the ends of its scale; without `max`,
    // its highest value is. With `axes` it is a large one.
    constructor(history, name, { label, text, min = 0, max, axes = false }) {
        Object.assign(this, { history, name, label, text, min, max, axes, seen: false, chart: null, drawn: 0 });
        this.element = element("div", { class: axes ? "line large" : "line", role: "img", "aria-label": label,
            onpointermove: (event) => this.point(event) });
        this.element.line = this; // for tests
        lines.set(this.element, this);
        watchers().view.observe(this.element);
        watchers().size.observe(this.element);
    }

    close() {
        this.seen = false;
        lines.delete(this.element);
        waiting.delete(this);
        observers.view.unobserve(this.element);
        observers.size.unobserve(this.element);
        this.stop();
        this.element.remove();
    }

    update() {
        if (this.seen)
            drawSoon(this);
    }

    see(seen) {
        this.seen = seen;
        if (seen)
            this.update();
        else
            this.stop();
    }

    fit() {
        if (this.chart && this.chart.madeFor !== this.element.clientWidth)
            this.restart();
    }

    restart() {
        this.stop();
        this.update();
    }

    stop() {
        this.chart?.destroy();
        this.chart = null;
        this.element.replaceChildren();
    }

    colour(property) {
        return getComputedStyle(this.element).getPropertyValue(property).trim();
    }

    // The time of day that is this many seconds from now.
    timeOf(seconds) {
        return timeOf(Date.now() / 1000 + seconds);
    }

    describe() {
        const { last, lowest, highest, n } = this.history.summary(this.name);
        const range = `lowest ${this.text(lowest)}, highest ${this.text(highest)} in the last ` +
            `${Math.round(this.history.seconds / 60)} minutes`;
        const sentence = n ? `${this.label}: last ${this.text(last)}, ${range}` : `${this.label}: no value yet`;

        if (this.element.getAttribute("aria-label") !== sentence)
            this.element.setAttribute("aria-label", sentence);
    }

    draw() {
        this.describe();
        if (loaded)
            this.drawChart();
        else if (!missing)
            (library ??= load()).then((isThere) => isThere && this.update());
    }

    // A line that would hardly move stays as it is.
    drawChart() {
        const now = this.history.now();

        if (this.chart && (now - this.drawn) * this.element.clientWidth < leastPixels * this.span())
            return;
        this.drawn = now;
        const data = this.history.points(this.name);
        if (!this.chart) {
            this.make(data);
            return;
        }
        const scales = this.chart.options.scales;

        (scales.xAxes?.[0].ticks ?? scales.x).min = -this.span();
        this.chart.data.datasets[0].data = data;
        this.chart.update(isOld() ? { duration: 0 } : "none");
    }

    make(data) {
        const canvas = element("canvas", { width: this.element.clientWidth, height: this.element.clientHeight });

        if (!this.element.clientWidth)
            return;
        this.element.replaceChildren(canvas);
        this.chart = new Chart(canvas, { type: "line", options: optionsOf(this), data: { datasets: [{
            data, borderColor: this.colour("--accent"), borderWidth: 1.5, pointRadius: 0, spanGaps: false, fill: false,
            tension: 0, lineTension: 0 }] } });
        this.chart.madeFor = this.element.clientWidth;
    }

    // The seconds that it shows: a line that has just begun would have no width among five minutes.
    span() {
        return Math.min(this.history.seconds, Math.max(shortestSpan, this.history.age()));
    }

    // Shows the value that the pointer is at.
    point(event) {
        const area = this.chart?.chartArea, left = this.element.getBoundingClientRect().left;
        const x = area ? ((event.clientX - left - area.left) / (area.right - area.left) - 1) * this.span() : NaN;
        let near = null;

        this.history.each(this.name, (ago, value) => {
            if (Math.abs(x + ago) < (near ? Math.abs(x + near.ago) : nearestSeconds))
                near = { ago, value };
        });
        this.element.title = Number.isFinite(near?.value) ? `${this.timeOf(-near.ago)}: ${this.text(near.value)}` : "";
    }
}
