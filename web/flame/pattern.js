// SPDX-License-Identifier: Apache-2.0
// Regular expressions with bounded run time. Names are untrusted, and a link may contain a pattern: a backtracking
// engine such as the browser's can run forever on "aaaa...", and a page cannot stop it. The engine in this file follows
// all alternatives at once, one character at a time (Thompson, 1968), and only determines whether there is a match.
// Single characters and classes, "[a-z]" or "\w", are matched by the browser's engine.

const longestPattern = 500, mostStates = 1000, mostKept = 50000;
const escapes = String.raw`\\(?:x[0-9a-fA-F]{2}|u\{[0-9a-fA-F]+\}|u[0-9a-fA-F]{4}|[pP]\{[^}]*\}|.)`;
const characters = String.raw`\[(?:\\.|[^\]\\])*\]`;
const groups = String.raw`\(\?(?:<?[=!]|:|<[^>]*>|)`;
const repetitions = String.raw`\{\d+(?:,\d*)?\}`;
const tokens = new RegExp([escapes, characters, groups, repetitions, "."].join("|"), "gsu");
const word = /\w/;

const edges = {
    "^": (before) => before === undefined,
    "$": (before, after) => after === undefined,
    "\\b": (before, after) => word.test(before ?? "") !== word.test(after ?? ""),
    "\\B": (before, after) => word.test(before ?? "") === word.test(after ?? ""),
};

function countsOf(token) {
    const found = /^\{(\d+)(,?)(\d*)\}$/.exec(token);

    if (found)
        return [Number(found[1]), found[2] ? Number(found[3] || Infinity) : Number(found[1])];
    return { "*": [0, Infinity], "+": [1, Infinity], "?": [0, 1] }[token];
}

// Parses a pattern that is known to be valid. Each method parses a part of the pattern and returns a function that
// creates the states of this part, given the state that follows it.
class Parser {
    constructor(text, flags) {
        this.waiting = text.match(tokens) ?? [];
        this.flags = flags;
        this.states = 0;
    }

    state(properties) {
        if (++this.states > mostStates)
            throw new Error("it has too many repetitions");
        return { number: this.states, mark: 0, ...properties };
    }

    alternatives() {
        const choices = [this.sequence()];

        while (this.waiting[0] === "|") {
            this.waiting.shift();
            choices.push(this.sequence());
        }
        return (next) => this.state({ ways: choices.map((choice) => choice(next)) });
    }

    sequence() {
        const parts = [];

        while (this.waiting.length > 0 && this.waiting[0] !== "|" && this.waiting[0] !== ")")
            parts.push(this.repeated(this.atom()));
        return (next) => parts.reduceRight((after, part) => part(after), next);
    }

    repeated(part) {
        const counts = countsOf(this.waiting[0] ?? "");

        if (!counts)
            return part;
        this.waiting.shift();
        if (this.waiting[0] === "?") // a lazy quantifier does not change whether there is a match
            this.waiting.shift();
        return (next) => this.repeat(part, counts, next);
    }

    repeat(part, [least, most], next) {
        const loop = this.state({ ways: [next] });
        let first = loop;

        if (most === Infinity)
            loop.ways.push(part(loop));
        for (let n = least; n < most && most !== Infinity; n++)
            first = this.state({ ways: [next, part(first)] });
        for (let n = 0; n < least; n++)
            first = this.state({ ways: [part(first)] });
        return first;
    }

    atom() {
        const token = this.waiting.shift();

        if (token === "(" || token === "(?:" || /^\(\?<[^=!]/.test(token)) {
            const group = this.alternatives();
            this.waiting.shift();
            return group;
        }
        if (edges[token])
            return (next) => this.state({ edge: edges[token], next });
        if (token.startsWith("(?") || /^\\[1-9k]/.test(token))
            throw new Error(`"${token}" is not supported here`);
        const single = new RegExp(`^(?:${token})$`, this.flags);
        return (next) => this.state({ takes: single, next });
    }
}

export class Pattern {
    // Throws an Error with the reason if the pattern is invalid or not supported.
    constructor(text, flags = "") {
        if (text.length > longestPattern)
            throw new Error(`it is longer than ${longestPattern} characters`);
        const unicode = flags.includes("u") ? flags : `${flags}u`; // with the flag u, a surrogate pair is one character

        new RegExp(text, unicode); // throws if the pattern is invalid
        this.found = { number: 0, mark: 0 };
        this.start = new Parser(text, unicode).alternatives()(this.found);
        this.step = 0; // number of the current step, which marks the states reached in it
        this.places = new Map();
        this.kept = 0; // number of cached transitions
    }

    // Returns whether the pattern matches anywhere in the name.
    test(name) {
        let place = this.place([], undefined);

        for (const character of name) {
            place = place.next.get(character) ?? this.follow(place, character);
            if (place === this.found)
                return true;
        }
        return (place.next.get(undefined) ?? this.follow(place, undefined)) === this.found;
    }

    // A place is a set of states reached after a character, and whether that character was a word character. Places are
    // cached. A place also caches which place follows after each character, since most names are alike.
    place(states, before) {
        const key = `${before} ${states.map((state) => state.number).sort().join(" ")}`;
        const found = this.places.get(key);

        if (found)
            return found;
        const made = { states, before, next: new Map() };
        this.places.set(key, made);
        return made;
    }

    // Returns the place after one more character. If the character is undefined, the name has ended.
    follow(place, character) {
        const taking = this.spread([...place.states, this.start], place.before, character);
        const isFound = this.found.mark === this.step;
        const reached = taking.filter((state) => character !== undefined && state.takes.test(character));
        const next = isFound ? this.found : this.place([...new Set(reached.map((state) => state.next))],
            word.test(character ?? "") ? "a" : " ");

        place.next.set(character, next);
        if (++this.kept > mostKept) {
            this.places.clear();
            this.kept = 0;
        }
        return next;
    }

    // Returns the states that consume a character: among the given states, and among all states that can be reached
    // from them without consuming a character.
    spread(waiting, before, after) {
        const taking = [];

        this.step++;
        while (waiting.length > 0) {
            const state = waiting.pop();
            if (state.mark === this.step)
                continue;
            state.mark = this.step;
            if (state.takes)
                taking.push(state);
            else if (state.ways)
                waiting.push(...state.ways);
            else if (state.edge?.(before, after))
                waiting.push(state.next);
        }
        return taking;
    }
}
