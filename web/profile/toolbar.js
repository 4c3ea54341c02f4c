// SPDX-License-Identifier: Apache-2.0
// How a recording is shown: by process or merged, as flames or icicles, what is searched for, and beside which other.
import { element, write } from "../element.js";
import { intervalOf } from "../scales.js";

const searchDelayMs = 200;

// Values in the URL; the first is the default, which it leaves out.
const choices = { by: ["process", "merged"], shape: ["icicle", "flame"], compare: ["side", "difference"] };
const titles = { process: "By process", merged: "Merged", icicle: "Icicle", flame: "Flame", side: "A and B",
                 difference: "Difference" };
const labels = { by: "Stacks", shape: "Shape", compare: "Show" };

// Names of functions may have any character.
function escaped(name) {
    return name.replace(/[%;]/g, encodeURIComponent);
}

function unescaped(name) {
    try {
        return decodeURIComponent(name.replace(/%(?!25|3B)/g, "%25"));
    } catch {
        return name;
    }
}

const longestZoom = 1500; // in the URL

function zoomText(path) {
    const text = path.map(escaped).join(";");

    return text.length > longestZoom ? "" : text;
}

// The state of the view, but for the form, as the URL has it.
export function stateOf(parameters) {
    const state = { search: parameters.get("search") ?? "", zoom: [],
                    interval: intervalOf(parameters.get("from"), parameters.get("to")) };

    for (const [name, values] of Object.entries(choices))
        state[name] = values.includes(parameters.get(name)) ? parameters.get(name) : values[0];
    if (parameters.get("zoom"))
        state.zoom = parameters.get("zoom").split(";").map(unescaped);
    return state;
}

export function parametersOf(state) {
    const parameters = { search: state.search, zoom: zoomText(state.zoom), from: state.interval?.since,
                         to: state.interval?.until };

    for (const [name, values] of Object.entries(choices))
        parameters[name] = state[name] === values[0] ? "" : state[name];
    return parameters;
}

export class Toolbar {
    // on: {change(values), keep(), forget()}
    constructor(on) {
        this.on = on;
        this.selects = {};
        this.fields = {};
        for (const name of Object.keys(choices))
            this.fields[name] = this.select(name);
        this.search = element("input", { type: "search", maxlength: 8000, spellcheck: "false",
                                         placeholder: "text or /pattern/", oninput: () => this.typed() });
        this.keep = element("button", { type: "button", onclick: on.keep }, "Keep as A");
        this.forget = element("button", { type: "button", onclick: on.forget }, "Forget A");
        this.past = element("p", { class: "past", hidden: true });
        this.root = element("div", { class: "card controls" }, this.past, this.fields.by, this.fields.shape,
                            element("label", {}, "Search", this.search), this.fields.compare, this.keep, this.forget);
        this.offer({ recording: false, kept: false });
    }

    select(name) {
        const options = choices[name].map((value) => element("option", { value }, titles[value]));

        this.selects[name] = element("select", { name, onchange: () => this.changed() }, ...options);
        return element("label", {}, labels[name], this.selects[name]);
    }

    changed() {
        clearTimeout(this.timer);
        const chosen = Object.entries(this.selects).map(([name, select]) => [name, select.value]);

        this.on.change({ ...Object.fromEntries(chosen), search: this.search.value });
    }

    typed() {
        clearTimeout(this.timer);
        this.timer = setTimeout(() => this.changed(), searchDelayMs);
    }

    fill(state) {
        for (const [name, select] of Object.entries(this.selects))
            select.value = state[name];
        this.search.value = state.search;
    }

    // Whether there is a recording to keep, and one that was kept; which time of the past it is of.
    offer({ recording, kept, past = "" }) {
        write(this.past, past);
        this.past.hidden = past === "";
        this.keep.disabled = !recording;
        this.forget.hidden = this.fields.compare.hidden = !kept;
    }

    close() {
        clearTimeout(this.timer);
    }
}
