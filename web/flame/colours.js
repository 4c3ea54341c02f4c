// SPDX-License-Identifier: Apache-2.0
// Colours of frames: warm for user code, cold for the kernel, neutral for processes. The shade depends on the name, so
// that a function has the same colour in every graph. The colours are custom properties of flame.css, which has a light
// and a dark set. In the code, a colour is an index into three consecutive sets of `count` colours: full colours,
// dimmed colours for frames that a search does not match, and greys for ancestors of the zoomed frame.

const shades = 12, steps = 20;
const slots = { user: 0, kernel: shades, neutral: 2 * shades, match: 2 * shades + 1, same: 2 * shades + 2 + steps };
const count = slots.same + steps + 1;
export const dim = count, grey = 2 * count;
const mostNames = 100000;

// Hashes the first characters of a name with FNV-1a.
function hash(name) {
    let h = 0x811c9dc5;

    for (let i = 0; i < name.length && i < 200; i++)
        h = Math.imul(h ^ name.charCodeAt(i), 0x01000193);
    return (h ^ (h >>> 15)) >>> 0;
}

function mix(a, b, t) {
    return a.map((value, i) => Math.round(value + (b[i] - value) * t));
}

export function hex(colour) {
    return `#${colour.map((value) => value.toString(16).padStart(2, "0")).join("")}`;
}

// Packs a colour into 32 bits in the byte order of ImageData, on machines of either byte order.
function pixel([r, g, b]) {
    return new Uint32Array(new Uint8ClampedArray([r, g, b, 255]).buffer)[0];
}

export class Colours {
    constructor() {
        this.names = new Map();
        this.load();
    }

    property(style, name) {
        const text = style.getPropertyValue(`--${name}`).trim().replace(/^#(.)(.)(.)$/, "#$1$1$2$2$3$3");

        return [1, 3, 5].map((at) => Number.parseInt(text.slice(at, at + 2), 16) || 0);
    }

    // Reads the style sheet again, because the theme may have changed.
    load() {
        const style = getComputedStyle(document.documentElement);
        const of = (name) => this.property(style, name);
        const full = new Array(count), mark = of("flame-mark");

        this.paper = of("card");
        this.ink = hex(of("ink"));
        this.accent = hex(of("accent"));
        for (const kind of ["user", "kernel"])
            for (let i = 0; i < shades; i++)
                full[slots[kind] + i] = mix(of(`flame-${kind}-from`), of(`flame-${kind}-to`), i / (shades - 1));
        full[slots.neutral] = of("flame-neutral");
        full[slots.match] = of("flame-match");
        for (let i = -steps; i <= steps; i++)
            full[slots.same + i] = mix(of("flame-same"), of(i < 0 ? "flame-less" : "flame-more"), Math.abs(i) / steps);
        this.colours = [...full, ...full.map((one) => mix(one, this.paper, 0.8)),
                        ...full.map((one) => mix(mix(one, full[slots.neutral], 0.7), this.paper, 0.5))];
        this.pixels = Uint32Array.from(this.colours, pixel);
        this.mark = pixel(mark);
        this.blank = pixel(this.paper);
    }

    shade(name) {
        let shade = this.names.get(name);

        if (shade === undefined) {
            if (this.names.size >= mostNames)
                this.names.clear();
            shade = hash(name) % shades;
            this.names.set(name, shade);
        }
        return shade;
    }

    kind(node) {
        const isFunction = node.kind === "user" || node.kind === "kernel";

        return isFunction ? slots[node.kind] + this.shade(node.name) : slots.neutral;
    }

    match() {
        return slots.match;
    }

    // Returns the colour of a difference that is within statistical noise.
    unsure() {
        return slots.neutral;
    }

    // Returns the colour of a difference between two shares. Differences of `limit` or more get the strongest colour.
    change(difference, limit) {
        return slots.same + Math.round(Math.max(-1, Math.min(1, difference / limit)) * steps);
    }
}
