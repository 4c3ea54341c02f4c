// SPDX-License-Identifier: Apache-2.0
// Draws a line on a canvas of its own: small, without axes, as wide as its place.
import { element } from "../element.js";

const top = 2, bottom = 1; // pixels that stay free

// Runs of points that are known, as pixels: [[{x, y}]]. The scale begins at 0, and ends at `most` or the highest value.
export function runsOf(line, width, height, most = 0) {
    const highest = line.reduce((all, { y }) => y > all ? y : all, most) || 1;
    const runs = [];
    let run = null;

    for (const { x, y } of line) {
        if (!Number.isFinite(y) || x < 0) {
            run = null;
            continue;
        }
        if (!run)
            runs.push(run = []);
        run.push({ x: x * width, y: height - bottom - Math.max(0, y) / highest * (height - top - bottom) });
    }
    return runs;
}

// The point that is nearest to a place from 0 to 1, or null where nothing is known.
export function nearest(line, x) {
    return line.reduce((best, one) => Number.isFinite(one.y) &&
        (!best || Math.abs(one.x - x) < Math.abs(best.x - x)) ? one : best, null);
}

function trace(context, run) {
    context.beginPath();
    for (const { x, y } of run)
        context.lineTo(x, y);
    if (run.length === 1)
        context.lineTo(run[0].x + 1, run[0].y);
}

export class Spark {
    // `area`: the room below the line is filled. `describe(point)` says what a point is, for the pointer.
    constructor({ area = false, describe = () => "" } = {}) {
        Object.assign(this, { area, describe, line: [] });
        this.canvas = element("canvas", { class: area ? "spark area" : "spark", role: "img", "aria-label": "",
                                          onpointermove: (event) => this.point(event) });
    }

    // `label` is for readers of the screen.
    draw(line, label) {
        const { canvas } = this, { clientWidth: width, clientHeight: height } = canvas, scale = devicePixelRatio || 1;
        const style = getComputedStyle(canvas), colour = style.color, key = `${width} ${height} ${scale} ${colour}`;

        if (canvas.getAttribute("aria-label") !== label)
            canvas.setAttribute("aria-label", label);
        if (width === 0 && !canvas.isConnected)
            requestAnimationFrame(() => canvas.isConnected && this.draw(line, label)); // it is in its place then
        if (width === 0 || (line === this.line && key === this.key))
            return;
        Object.assign(this, { line, key });
        canvas.width = Math.round(width * scale);
        canvas.height = Math.round(height * scale);
        const context = canvas.getContext("2d");
        context.scale(scale, scale);
        context.strokeStyle = context.fillStyle = colour;
        context.lineWidth = 1.4;
        context.lineJoin = "round";
        for (const run of runsOf(line, width, height)) {
            trace(context, run);
            context.stroke();
            if (!this.area)
                continue;
            context.lineTo(run.at(-1).x, height);
            context.lineTo(run[0].x, height);
            context.globalAlpha = 0.12;
            context.fill();
            context.globalAlpha = 1;
        }
    }

    point(event) {
        const box = this.canvas.getBoundingClientRect();
        const near = box.width ? nearest(this.line, (event.clientX - box.left) / box.width) : null;

        this.canvas.title = near ? this.describe(near) : "";
    }
}
