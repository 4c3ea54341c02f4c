// SPDX-License-Identifier: Apache-2.0
// The wide chart, which shows CPU time by service, stacked over time. The user points at a moment, or selects an
// interval by dragging or with the keyboard.
import { Drawing } from "../drawing.js";
import { element } from "../element.js";
import { clockOf, digits } from "../numbers.js";
import { between, timeTicks, valueScale } from "../scales.js";

const dragPx = 4, timePx = 90, top = 8, bottomPx = 22, right = 2;
const help = "Arrow keys move from moment to moment, Page Up and Page Down by ten. With Shift they select an " +
    "interval, and Escape clears it.";

export class StackChart {
    // onPoint(time or null) and onInterval(interval or null) are called when the user points or selects. describe(time)
    // returns the values at a time, in words.
    constructor({ onPoint, onInterval, describe }) {
        Object.assign(this, { onPoint, onInterval, describe, shown: null, chosen: null, base: null, dragged: null,
                              marked: null, area: { left: 0, right: 1, top, bottom: 1 } });
        this.bubble = element("div", { class: "bubble", hidden: true });
        this.element = element("div", { class: "stack", tabindex: 0, role: "slider", "aria-label":
            "Moment in the chart of CPU time by service", "aria-describedby": "stack-help", "aria-valuemin": 0,
            "aria-valuemax": 0, "aria-valuenow": 0,
            onkeydown: (event) => this.key(event), onblur: () => this.point(null),
            onpointermove: (event) => this.move(event), onpointerleave: () => this.dragged || this.point(null),
            onpointerdown: (event) => this.press(event), onpointerup: (event) => this.release(event),
            onpointercancel: () => this.drag(null) });
        this.root = element("div", { class: "stack-frame" }, this.element, this.bubble,
                            element("p", { id: "stack-help", class: "unseen" }, help));
        this.drawing = new Drawing(this.element, (...place) => this.paint(...place), () => !this.shown?.ends.length);
        this.element.stack = this; // for tests
    }

    close() {
        this.drawing.close();
    }

    // `shown`: {since, until, ends, bands, sums, gaps, colours, limit, live}
    show(shown) {
        this.shown = shown;
        this.drawing.request();
        this.element.setAttribute("aria-valuemin", Math.floor(shown.since));
        this.element.setAttribute("aria-valuemax", Math.ceil(shown.until));
    }

    // `base` is the interval that the selected one is compared with, or null.
    choose(interval, base = null) {
        this.chosen = interval;
        this.base = base;
        this.drawing.request();
    }

    // --- drawing

    x(time) {
        const { left, right } = this.area, { since, until } = this.shown;

        return left + (time - since) / (until - since) * (right - left);
    }

    timeAt(x) {
        const { left, right } = this.area, { since, until } = this.shown;

        return since + Math.min(1, Math.max(0, (x - left) / (right - left))) * (until - since);
    }

    paint(context, width, height) {
        if (!this.shown)
            return;
        const scale = valueScale(Math.max(0, ...this.shown.sums), this.shown.limit);

        this.drawing.font(context);
        const marks = Array.from({ length: Math.floor(scale.end / scale.step * 1.0001) + 1 }, (_, i) => i * scale.step);
        const left = Math.max(...marks.map((value) => context.measureText(digits(value)).width)) + 8;
        this.area = { left, right: width - right, top, bottom: height - bottomPx };
        this.y = (value) => this.area.bottom - value / scale.end * (this.area.bottom - top);
        this.paintGrid(context, marks);
        this.paintBands(context);
        this.drawing.font(context);
        this.paintTimes(context, height);
        this.paintInterval(context);
        this.mark();
    }

    paintGrid(context, marks) {
        context.strokeStyle = this.drawing.colour("--rule");
        context.lineWidth = 1;
        context.beginPath();
        for (const value of marks) {
            const y = Math.round(this.y(value)) + 0.5, text = digits(value);
            context.moveTo(this.area.left, y);
            context.lineTo(this.area.right, y);
            context.fillText(text, this.area.left - 8 - context.measureText(text).width, y + 3.5);
        }
        context.stroke();
    }

    paintTimes(context, height) {
        const { since, until, live } = this.shown, { left, right } = this.area;
        const last = live ? "now" : clockOf(until), end = right - context.measureText(last).width;

        context.fillText(last, end, height - 6);
        for (const time of timeTicks(since, until, Math.max(2, Math.floor((right - left) / timePx)))) {
            const text = clockOf(time), half = context.measureText(text).width / 2, x = this.x(time);
            if (x - half >= left - 4 && x + half < end - 12)
                context.fillText(text, x - half, height - 6);
        }
    }

    // Each run of steps without a gap is drawn as a separate area.
    paintBands(context) {
        const { ends, bands, gaps, colours, since } = this.shown, below = ends.map(() => 0);

        bands.forEach((band, k) => {
            context.beginPath();
            for (let i = 0; i < ends.length; i++) {
                if (gaps[i] || ends[i] < since)
                    continue;
                const first = i;
                while (i + 1 < ends.length && !gaps[i + 1])
                    i++;
                this.trace(context, band, below, first, i);
            }
            context.fillStyle = this.drawing.colour(colours[k]);
            context.fill();
            band.forEach((value, i) => (below[i] += value));
        });
    }

    trace(context, band, below, first, last) {
        const { ends } = this.shown;
        const begin = first > 0 ? Math.max(ends[first - 1], this.shown.since) : this.shown.since;
        const from = Math.max(this.area.left, this.x(first > 0 ? begin : ends[first] - 1));

        context.moveTo(from, this.y(below[first] + band[first]));
        for (let i = first; i <= last; i++)
            context.lineTo(this.x(ends[i]), this.y(below[i] + band[i]));
        for (let i = last; i >= first; i--)
            context.lineTo(this.x(ends[i]), this.y(below[i]));
        context.lineTo(from, this.y(below[first]));
        context.closePath();
    }

    paintInterval(context) {
        const interval = this.dragged?.interval ?? this.chosen;

        this.bubble.hidden = !this.chosen || Boolean(this.dragged);
        if (this.base)
            this.frame(context, this.base, "--quiet", [4, 3]);
        const place = interval && this.frame(context, interval, "--accent", []);
        if (place)
            this.placeBubble(...place);
    }

    // Draws a frame around an interval. Returns the edges of the frame in pixels, or null if it lies outside the chart.
    frame(context, interval, colour, dash) {
        const { since, until } = this.shown, { top, bottom } = this.area;

        if (interval.until <= since || interval.since >= until)
            return null;
        const from = this.x(Math.max(since, interval.since)), to = this.x(Math.min(until, interval.until));
        context.fillStyle = this.drawing.colour("--chosen");
        context.fillRect(from, top, to - from, bottom - top);
        context.strokeStyle = this.drawing.colour(colour);
        context.lineWidth = 1.5;
        context.setLineDash(dash);
        context.strokeRect(from, top, to - from, bottom - top);
        context.setLineDash([]);
        return [from, to];
    }

    // Places the bubble beside the interval, on the side that has room.
    placeBubble(from, to) {
        const width = this.bubble.offsetWidth, all = this.element.clientWidth;
        const x = to + 8 + width <= all ? to + 8 : from - 8 - width >= 0 ? from - 8 - width : (all - width) / 2;

        this.bubble.style.transform = `translateX(${Math.round(Math.max(0, x))}px)`;
    }

    // --- input

    // Marks the time that the user points at, in this chart or in another one.
    markAt(time) {
        this.marked = time;
        if (this.shown)
            this.mark();
    }

    mark() {
        const { since, until } = this.shown, time = this.marked;

        this.drawing.mark(time !== null && time >= since && time <= until ? this.x(time) : null);
    }

    point(time) {
        if (this.shown)
            this.onPoint(time);
    }

    timeOf(event) {
        return this.timeAt(event.clientX - this.element.getBoundingClientRect().left);
    }

    press(event) {
        if (event.button !== 0 || !this.shown)
            return;
        this.element.setPointerCapture(event.pointerId);
        this.drag({ x: event.clientX, time: this.timeOf(event), interval: null });
    }

    move(event) {
        if (!this.shown)
            return;
        const time = this.timeOf(event);
        this.point(time);
        if (this.dragged && (this.dragged.interval || Math.abs(event.clientX - this.dragged.x) >= dragPx))
            this.drag({ ...this.dragged, interval: between(Math.round(this.dragged.time), Math.round(time)) });
    }

    // A click outside the interval clears the selection.
    release(event) {
        const dragged = this.dragged, time = dragged && this.timeOf(event);

        if (!dragged)
            return;
        this.drag(null);
        if (dragged.interval)
            this.onInterval(dragged.interval);
        else if (this.chosen && !(time > this.chosen.since && time < this.chosen.until))
            this.onInterval(null);
    }

    drag(dragged) {
        this.dragged = dragged;
        this.drawing.request();
    }

    key(event) {
        const { ends } = this.shown ?? { ends: [] }, last = ends.length - 1;
        const near = this.marked === null ? last : ends.findIndex((end) => end >= this.marked - 0.001);
        const at = near < 0 ? last : near;
        const to = { ArrowLeft: at - 1, ArrowDown: at - 1, ArrowRight: at + 1, ArrowUp: at + 1, PageDown: at - 10,
                     PageUp: at + 10, Home: 0, End: last }[event.key];

        if (event.ctrlKey || event.altKey || event.metaKey || last < 0)
            return;
        if (event.key === "Escape" && this.chosen) {
            event.preventDefault();
            this.onInterval(null);
        } else if (to !== undefined) {
            event.preventDefault();
            this.go(ends[at], ends[Math.min(last, Math.max(0, to))], event.shiftKey);
        }
    }

    // Moves the marker from one moment to another. With `extending`, one end of the selected interval moves, too, and
    // the other end stays.
    go(from, to, extending) {
        const stays = { [this.chosen?.since]: this.chosen?.until, [this.chosen?.until]: this.chosen?.since };

        this.point(to);
        this.element.setAttribute("aria-valuenow", Math.round(to));
        this.element.setAttribute("aria-valuetext", this.describe(to));
        if (extending)
            this.onInterval(between(stays[Math.round(from)] ?? Math.round(from), Math.round(to)));
    }
}
