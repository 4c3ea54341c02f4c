// SPDX-License-Identifier: Apache-2.0
// Line charts of values over time: sparklines beside a number, and large charts with axes.
//
// The source of the values, for example a History, provides points(name): [{x: seconds, 0 at the right end and the past
// negative, y: a value, or NaN for a gap}]; summary(name): {last, lowest, highest, n}; `seconds`, for how many seconds
// values are kept; span(), how many seconds are shown; timeOf(x), the time at `x` in seconds since 1970; and, if an
// interval is selected, `interval`: [x of its start, x of its end].
import { Drawing } from "./drawing.js";
import { element } from "./element.js";
import { clockOf, timeOf } from "./numbers.js";
import { timeTicks, valueScale } from "./scales.js";

// nearestPx: maximum distance of the pointer from the value that it marks; timePx: room for each time on the axis
const nearestPx = 12, timePx = 90;
const edge = 1.5; // half of the line width, so that the line is not clipped

// The line of the values called `name`. Insert `line.element` into the document, call update() after adding values, and
// close() to free the line.
export class Line {
    // `label` names the line and `text(value)` formats a value. The scale goes from `min` to `max`, or to the highest
    // value if there is no `max`. With `axes`, the line becomes a large chart with axes. `colour` is a custom property
    // of the style sheet. If onPoint(time or null) is given, it is called as the pointer moves; otherwise the value
    // under the pointer is shown.
    constructor(source, name, { label, text, min = 0, max, axes = false, colour = "--accent", onPoint = null }) {
        Object.assign(this, { source, name, label, text, min, max, axes, colour, onPoint });
        this.element = element("div", { class: axes ? "line large" : "line", role: "img", "aria-label": label,
            onpointermove: (event) => this.point(event), onpointerleave: () => this.leave() });
        this.drawing = new Drawing(this.element, (...place) => this.paint(...place), () =>
            this.source.points(this.name).length === 0);
        this.area = { left: 0, right: 0 };
        this.marked = () => null; // restores the marker after a redraw
        this.element.line = this; // for tests
    }

    close() {
        this.drawing.close();
        this.element.remove();
    }

    update() {
        this.drawing.request();
    }

    describe() {
        const { last, lowest, highest, n } = this.source.summary(this.name);
        const range = `lowest ${this.text(lowest)}, highest ${this.text(highest)} in the last ` +
            `${Math.round(this.source.seconds / 60)} minutes`;
        const sentence = n ? `${this.label}: last ${this.text(last)}, ${range}` : `${this.label}: no value yet`;

        if (this.element.getAttribute("aria-label") !== sentence)
            this.element.setAttribute("aria-label", sentence);
    }

    paint(context, width, height) {
        const points = this.source.points(this.name), { drawing } = this;
        const most = this.max ?? points.reduce((most, { y }) => y > most ? y : most, 0);
        const scale = this.axes ? valueScale(most, this.max) : { end: most > 0 ? most : 1 };
        const ticks = this.axes ? this.ticksOf(context, scale) : [];
        const left = Math.max(0, ...ticks.map((tick) => tick.width + 8));
        const bottom = height - (this.axes ? 18 : edge), top = this.axes ? 8 : edge;

        this.describe();
        this.area = { left, right: width - edge };
        this.place = { y: (y) => bottom - (y - this.min) / (scale.end - this.min) * (bottom - top), bottom };
        this.paintInterval(context, top);
        if (this.axes)
            this.paintAxes(context, ticks, height);
        this.trace(context, points);
        context.strokeStyle = context.fillStyle = drawing.colour(this.colour);
        context.lineWidth = 1.5;
        context.lineJoin = "round";
        context.stroke();
        this.fill(context, points);
        this.marked();
    }

    x(x) {
        return this.area.right + x / this.source.span() * (this.area.right - this.area.left);
    }

    paintInterval(context, top) {
        const [from, to] = this.source.interval ?? [];

        if (from === undefined)
            return;
        context.fillStyle = this.drawing.colour("--chosen");
        context.fillRect(this.x(from), top, this.x(to) - this.x(from), this.place.bottom - top);
    }

    ticksOf(context, { end, step }) {
        const ticks = [];

        this.drawing.font(context);
        for (let value = this.min; value <= end * 1.0001; value += step) {
            const text = this.text(value);
            ticks.push({ value, text, width: context.measureText(text).width });
        }
        return ticks;
    }

    paintAxes(context, ticks, height) {
        const { left, right } = this.area, { source } = this;
        const n = Math.max(2, Math.floor((right - left) / timePx)), now = source.timeOf(0);

        context.strokeStyle = this.drawing.colour("--rule");
        context.lineWidth = 1;
        context.beginPath();
        for (const { value, text, width } of ticks) {
            const y = Math.round(this.place.y(value)) + 0.5;
            context.moveTo(left, y);
            context.lineTo(right, y);
            context.fillText(text, left - 8 - width, y + 3.5);
        }
        context.stroke();
        for (const time of timeTicks(now - source.span(), now, n)) {
            const text = clockOf(time), { width } = context.measureText(text);
            const x = this.x(time - now) - width / 2;
            if (x >= left - 8 && x + width <= right)
                context.fillText(text, x, height - 4);
        }
    }

    // Traces the line, with gaps. A value with gaps on both sides becomes a short stroke.
    trace(context, points) {
        let open = false;

        context.beginPath();
        points.forEach(({ x, y }, i) => {
            const known = Number.isFinite(y);
            if (known && open)
                context.lineTo(this.x(x), this.place.y(y));
            else if (known)
                context.moveTo(this.x(x) - (Number.isFinite(points[i + 1]?.y) ? 0 : 1), this.place.y(y));
            if (known && !open && !Number.isFinite(points[i + 1]?.y))
                context.lineTo(this.x(x) + 1, this.place.y(y));
            open = known;
        });
    }

    // Fills the area below the line.
    fill(context, points) {
        let first = null, last = null;
        const end = () => {
            if (first !== null) {
                context.lineTo(this.x(last), this.place.bottom);
                context.lineTo(this.x(first), this.place.bottom);
            }
            first = null;
        };

        context.beginPath();
        for (const { x, y } of points)
            if (!Number.isFinite(y)) {
                end();
            } else {
                context[first === null ? "moveTo" : "lineTo"](this.x(x), this.place.y(y));
                first ??= x;
                last = x;
            }
        end();
        context.globalAlpha = 0.12;
        context.fill();
        context.globalAlpha = 1;
    }

    // --- the pointer

    point(event) {
        const { left, right } = this.area, inside = event.clientX - this.element.getBoundingClientRect().left;
        const x = ((inside - left) / (right - left) - 1) * this.source.span();

        if (this.onPoint)
            this.onPoint(this.source.timeOf(x));
        else
            this.show(x);
    }

    leave() {
        if (this.onPoint)
            this.onPoint(null);
        else
            this.markAt(null);
    }

    // Marks the value nearest to `x`, if it is near enough.
    show(x) {
        const near = nearestPx / (this.area.right - this.area.left) * this.source.span();
        let found = null;

        this.marked = () => this.show(x);
        for (const point of this.source.points(this.name))
            if (Number.isFinite(point.y) && Math.abs(point.x - x) <= (found ? Math.abs(found.x - x) : near))
                found = point;
        if (found)
            this.drawing.mark(this.x(found.x), `${timeOf(this.source.timeOf(found.x))}: ${this.text(found.y)}`);
        else
            this.drawing.mark(null);
    }

    // Marks a point in time without a value.
    markAt(time) {
        const x = time === null ? NaN : this.x(time - this.source.timeOf(0));

        this.marked = () => this.markAt(time);
        this.drawing.mark(x >= this.area.left && x <= this.area.right ? x : null);
    }
}
