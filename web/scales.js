// SPDX-License-Identifier: Apache-2.0
// Scales of charts: the positions of grid lines, and times and intervals in words. Pure functions.

const minutes = [1, 2, 5, 10, 15, 20, 30, 60, 120, 360, 720, 1440];

// Returns the end of a scale that starts at 0 and includes `most`, and the distance between its grid lines: {end,
// step}. `limit` is an upper bound of the values, for example the number of CPUs. If `limit` is less than twice `most`,
// the scale ends at `limit`.
export function valueScale(most, limit = Infinity) {
    const wanted = most > 0 ? most : 1, end = limit < 2 * wanted ? limit : wanted;
    const size = 10 ** Math.floor(Math.log10(end / 4));
    const step = [1, 2, 5, 10].map((one) => one * size).find((one) => one * 4 >= end * 0.999);

    return { end: limit < 2 * wanted ? limit : Number((Math.ceil(end / step) * step).toPrecision(9)), step };
}

// Returns the times to label on the axis of a range: at most `n`, at round minutes in local time.
export function timeTicks(since, until, n) {
    const step = (minutes.find((one) => (until - since) / 60 / one <= n) ?? Math.ceil((until - since) / 60 / n)) * 60;
    const shift = new Date(since * 1000).getTimezoneOffset() * 60;
    const ticks = [];

    for (let time = Math.ceil((since - shift) / step) * step + shift; time < until; time += step)
        ticks.push(time);
    return ticks;
}

// --- Intervals: {since, until}, in seconds since 1970.

// Returns the interval between two times in either order; null if they are equal.
export function between(a, b) {
    return a === b || Number.isNaN(a + b) ? null : { since: Math.min(a, b), until: Math.max(a, b) };
}

// Returns how long the daemon is configured to keep past samples, in seconds; 0 if it keeps none.
export function hindsightOf(sampler) {
    return sampler?.enabled && sampler.hindsight?.enabled ? sampler.hindsight.seconds : 0;
}

// Returns whether an interval begins within the last `seconds`.
export function isWithin({ since }, seconds, now) {
    return seconds > 0 && now - since <= seconds;
}

// Parses the interval in a link. Returns null if the interval is missing or invalid.
export function intervalOf(from, to) {
    const valid = /^\d{1,12}$/.test(from ?? "") && /^\d{1,12}$/.test(to ?? "") && Number(from) < Number(to);

    return valid ? { since: Number(from), until: Number(to) } : null;
}
