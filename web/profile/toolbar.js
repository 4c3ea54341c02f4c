// SPDX-License-Identifier: Apache-2.0
// The display options of a recording: by process or merged, as flames or icicles, search, and comparison.
import { element, write } from "../element.js";
import { intervalOf } from "../scales.js";

const searchDelayMs = 200;

// Values of the display options in the URL. The first value is the default and is omitted.
const choices = { by: ["process", "merged"], shape: ["icicle", "flame"], compare: ["side", "difference"] };
const titles = { process: "By process", merged: "Merged", icicle: "Icicle", flame: "Flame", side: "A and B",
                 difference: "Difference" };
const labels = { by: "Stacks", shape: "Shape", compare: "Show" };

// Escapes a name for the zoomed path in the URL, in which names are separated by ";".
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

const longestZoom = 1500; // maximum length of the zoomed path in the URL, in characters

function zoomText(path) {
    const text = path.map(escaped).join(";");

    return text.length > longestZoom ? "" : text;
}

// Returns the state of the view from the URL, without the values of the form.
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
    // `on`: callbacks. change(values) when a control changes; keep() for "Keep as A"; forget() for "Forget A".
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

    // Shows the controls for the recording that can be kept and for the one that is kept, and the time range of past
    // samples.
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
