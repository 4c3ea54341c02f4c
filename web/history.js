// SPDX-License-Identifier: Apache-2.0
// Values of the last five minutes, by name, kept in the browser only. Times are of a clock that nobody can set, so that
// a wall clock that is wrong or jumps does no harm.

const mostNames = 8000, shortestSpan = 60;

export class History {
    // A moment that is more than `gap` seconds after the one before starts a new line: nobody looked in between.
    // `clock` gives milliseconds.
    constructor({ seconds = 300, interval = 2, gap = 7, clock = () => performance.now() } = {}) {
        this.seconds = seconds;
        this.gap = gap;
        this.clock = clock;
        this.capacity = Math.ceil(1.25 * seconds / interval) + 1;
        this.times = new Float64Array(this.capacity); // seconds, of each moment's place
        this.moments = 0;                             // since the beginning; the last ones are kept
        this.values = new Map();                      // of a name: an array with a place for each moment
    }

    now() {
        return this.clock() / 1000;
    }

    // Begins a moment. All that is not added to it is not known.
    begin() {
        const now = this.now();

        if (this.moments && now - this.momentOf(this.moments - 1) > this.gap)
            this.place(now - this.gap / 2); // with nothing in it
        this.place(now);
        this.forget();
    }

    place(time) {
        const at = this.moments++ % this.capacity;

        this.times[at] = time;
        for (const values of this.values.values())
            values[at] = NaN;
    }

    // The names that had no value for as long as values are kept.
    forget() {
        if (this.moments % this.capacity === 0)
            for (const [name, values] of this.values)
                if (values.every(Number.isNaN))
                    this.values.delete(name);
    }

    // How long ago the first moment was that is kept.
    age() {
        const oldest = Math.max(0, this.moments - this.capacity);

        return this.moments ? Math.min(this.seconds, this.now() - this.momentOf(oldest)) : 0;
    }

    // The seconds that a line shows: one that has just begun would have no width among five minutes.
    span() {
        return Math.min(this.seconds, Math.max(shortestSpan, this.age()));
    }

    // The time of day, in seconds since 1970, that is this many seconds from now.
    timeOf(x) {
        return Date.now() / 1000 + x;
    }

    momentOf(moment) {
        return this.times[moment % this.capacity];
    }

    // Adds a value to the moment that began last. A value that is no number is not known.
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

    // Calls with (seconds ago, value) for each moment, the oldest first; NaN is a gap.
    each(name, take) {
        const values = this.values.get(name), now = this.now();

        for (let i = Math.max(0, this.moments - this.capacity); values && i < this.moments; i++) {
            const ago = now - this.momentOf(i);
            if (ago <= this.seconds)
                take(ago, values[i % this.capacity]);
        }
    }

    // For a line: [{x: seconds, 0 is now and the past is negative, y: value or NaN}]
    points(name) {
        const points = [];

        this.each(name, (ago, value) => points.push({ x: -ago, y: value }));
        return points;
    }

    // {last, lowest, highest, n}; NaN where no value is known. `last` is of the moment that began last.
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
