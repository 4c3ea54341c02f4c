// SPDX-License-Identifier: Apache-2.0
// The values of the last five minutes by name, kept only in the browser. Times come from the monotonic clock, so it
// does not matter if the wall clock is wrong or jumps.

const mostNames = 8000, shortestSpan = 60;

export class History {
    // A moment is a set of values that were recorded at the same time. Two moments more than `gap` seconds apart are
    // not connected by a line, since nothing was recorded in between. `clock` returns the time in milliseconds.
    constructor({ seconds = 300, interval = 2, gap = 7, clock = () => performance.now() } = {}) {
        this.seconds = seconds;
        this.gap = gap;
        this.clock = clock;
        this.capacity = Math.ceil(1.25 * seconds / interval) + 1;
        this.times = new Float64Array(this.capacity); // time of each slot, in seconds
        this.moments = 0;                             // number of moments since the start; the latest ones are stored
        this.values = new Map();                      // name → an array with a slot for each moment
    }

    now() {
        return this.clock() / 1000;
    }

    // Appends a moment. The value of a name at that moment is unknown unless add() is called for it.
    begin() {
        const now = this.now();

        if (this.moments && now - this.momentOf(this.moments - 1) > this.gap)
            this.place(now - this.gap / 2); // an empty moment marks the gap
        this.place(now);
        this.forget();
    }

    place(time) {
        const at = this.moments++ % this.capacity;

        this.times[at] = time;
        for (const values of this.values.values())
            values[at] = NaN;
    }

    // Drops the names that have no value in any stored moment.
    forget() {
        if (this.moments % this.capacity === 0)
            for (const [name, values] of this.values)
                if (values.every(Number.isNaN))
                    this.values.delete(name);
    }

    // Returns the age of the oldest stored moment, in seconds.
    age() {
        const oldest = Math.max(0, this.moments - this.capacity);

        return this.moments ? Math.min(this.seconds, this.now() - this.momentOf(oldest)) : 0;
    }

    // Returns how many seconds a line covers: less than five minutes at first, so that a new line is not squeezed into
    // a corner.
    span() {
        return Math.min(this.seconds, Math.max(shortestSpan, this.age()));
    }

    // Converts an offset from now, in seconds, to the time in seconds since 1970.
    timeOf(x) {
        return Date.now() / 1000 + x;
    }

    momentOf(moment) {
        return this.times[moment % this.capacity];
    }

    // Adds a value to the latest moment. Values that are not finite numbers are left unknown.
    add(name, value) {
        if (!Number.isFinite(value) || !this.moments)
            return;
        let values = this.values.get(name);
        if (!values) {
            if (this.values.size >= mostNames)
                return;
            values = new Float64Array(this.capacity).fill(NaN);
            this.values.set(name, values);
        }
        values[(this.moments - 1) % this.capacity] = value;
    }

    // Calls take(seconds ago, value) for each moment, the oldest first. A value of NaN is a gap.
    each(name, take) {
        const values = this.values.get(name), now = this.now();

        for (let i = Math.max(0, this.moments - this.capacity); values && i < this.moments; i++) {
            const ago = now - this.momentOf(i);
            if (ago <= this.seconds)
                take(ago, values[i % this.capacity]);
        }
    }

    // Returns the points of a line: [{x: seconds, 0 is now and the past is negative, y: value or NaN}].
    points(name) {
        const points = [];

        this.each(name, (ago, value) => points.push({ x: -ago, y: value }));
        return points;
    }

    // Returns {last, lowest, highest, n: number of known values}, with NaN if no value is known. `last` is the value of
    // the latest moment.
    summary(name) {
        const summary = { last: NaN, lowest: NaN, highest: NaN, n: 0 };

        this.each(name, (ago, value) => {
            summary.last = value;
            if (Number.isNaN(value))
                return;
            summary.lowest = summary.n ? Math.min(summary.lowest, value) : value;
            summary.highest = summary.n ? Math.max(summary.highest, value) : value;
            summary.n++;
        });
        return summary;
    }
}
