// SPDX-License-Identifier: Apache-2.0
// The scales of charts: where the lines of a grid are, and moments and intervals in words. Pure.

const minutes = [1, 2, 5, 10, 15, 20, 30, 60, 120, 360, 720, 1440];

// Returns the end of a scale that starts at 0 and has room for `most`, and the distance between its grid lines:
// {end, step}. Values never exceed `limit`, for example the number of CPUs. If it is less than twice `most`, the scale
// ends there.
export function valueScale(most, limit = Infinity) {
    const wanted = most > 0 ? most : 1, end = limit < 2 * wanted ? limit : wanted;
    const size = 10 ** Math.floor(Math.log10(end / 4));
    const step = [1, 2, 5, 10].map((one) => one * size).find((one) => one * 4 >= end * 0.999);

    return { end: limit < 2 * wanted ? limit : Number((Math.ceil(end / step) * step).toPrecision(9)), step };
}

// The moments of a range at which a time stands, at most `n` of them: round minutes of the reader's time of day.
export function timeTicks(since, until, n) {
    const step = (minutes.find((one) => (until - since) / 60 / one <= n) ?? Math.ceil((until - since) / 60 / n)) * 60;
    const shift = new Date(since * 1000).getTimezoneOffset() * 60;
    const ticks = [];

    for (let time = Math.ceil((since - shift) / step) * step + shift; time < until; time += step)
        ticks.push(time);
    return ticks;
}

// --- Intervals of time: {since, until}, in seconds since 1970.

// Between two moments of the reader, whichever is the first; null where they are the same.
export function between(a, b) {
    return a === b || Number.isNaN(a + b) ? null : { since: Math.min(a, b), until: Math.max(a, b) };
}

// For how many seconds the daemon keeps samples of what already happened, by its configuration; 0: it keeps none.
export function hindsightOf(sampler) {
    return sampler?.enabled && sampler.hindsight?.enabled ? sampler.hindsight.seconds : 0;
}

// Whether an interval begins in the last `seconds`.
export function isWithin({ since }, seconds, now) {
    return seconds > 0 && now - since <= seconds;
}

// Of the values of a link, as far as they make sense: null for none.
export function intervalOf(from, to) {
    const valid = /^\d{1,12}$/.test(from ?? "") && /^\d{1,12}$/.test(to ?? "") && Number(from) < Number(to);

    return valid ? { since: Number(from), until: Number(to) } : null;
}
