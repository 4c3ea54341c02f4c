// SPDX-License-Identifier: Apache-2.0
// The input for an event. Any text may be typed, and a list offers the events of this machine. The input is a combobox
// as in the ARIA Authoring Practices: the focus stays in the input.
import { element, plain, replace, write } from "../element.js";

export const offCpu = "off-cpu"; // the event whose samples are waits; it has a threshold instead of a rate
const shownMax = 60; // maximum number of events in the list; others are found by typing

export class Picker {
    // `properties` are the properties of the input element. onChange() is called when the user has selected or typed an
    // event.
    constructor(properties, onChange) {
        this.offers = this.all = [];
        this.options = [];
        this.active = -1;
        this.list = element("ul", { role: "listbox", id: `${properties.id}-list`, "aria-label": "Events" });
        this.count = element("p", { class: "quiet", role: "status" });
        this.popup = element("div", { class: "card events", hidden: true }, this.list, this.count);
        this.input = element("input", {
            ...properties, role: "combobox", "aria-expanded": "false", "aria-controls": this.list.id,
            "aria-autocomplete": "list", autocomplete: "off", spellcheck: "false", maxlength: 8000,
            oninput: () => this.open(this.input.value),
            onclick: () => this.open(""),
            onkeydown: (event) => this.key(event),
            onblur: () => this.close(),
            onchange: onChange,
        });
        this.onChange = onChange;
        this.list.addEventListener("mousedown", (event) => event.preventDefault()); // keeps the focus in the input
        this.list.addEventListener("click", (event) => this.clicked(event));
        this.root = element("div", { class: "picker" }, this.input, this.popup);
    }

    setEvents(offers) {
        const best = choices(offers), names = new Set(best.map(({ name }) => name));

        this.offers = offers;
        this.all = [...best, ...offers.filter(({ name }) => !names.has(name))];
        if (!this.popup.hidden)
            this.open(this.input.value);
    }

    open(text) {
        const found = text.trim() ? find(this.offers, text) : this.all;

        this.options = found.slice(0, shownMax);
        replace(this.list, ...this.options.map((one, i) => this.option(one, i)));
        const more = found.length > shownMax ? ` The first ${shownMax} are shown: type to search.` : "";
        write(this.count, found.length === 1 ? "1 event." : `${found.length.toLocaleString()} events.${more}`);
        this.show(true);
        this.activate(-1);
    }

    option(one, i) {
        return element("li", { role: "option", id: `${this.list.id}-${i}`, "aria-selected": "false", "data-at": i },
                       element("span", { class: "name" }, plain(one.name)), " ",
                       element("span", { class: "quiet" }, plain(one.note)));
    }

    show(open) {
        this.popup.hidden = !open;
        this.input.setAttribute("aria-expanded", String(open));
    }

    close() {
        this.show(false);
        this.activate(-1);
    }

    activate(at) {
        this.list.children[this.active]?.setAttribute("aria-selected", "false");
        this.active = at;
        const option = this.list.children[at];
        if (!option) {
            this.input.removeAttribute("aria-activedescendant");
            return;
        }
        option.setAttribute("aria-selected", "true");
        option.scrollIntoView({ block: "nearest" });
        this.input.setAttribute("aria-activedescendant", option.id);
    }

    // The arrow keys wrap around: Up leads from the input to the last option, and Down leads from the last option to
    // the input.
    move(by) {
        const n = this.options.length;

        if (this.popup.hidden)
            this.open("");
        else if (Math.abs(by) > 1)
            this.activate(Math.min(Math.max(this.active + by, 0), n - 1));
        else
            this.activate((this.active + 1 + by + n + 1) % (n + 1) - 1);
    }

    choose(at) {
        this.input.value = this.options[at].name;
        this.close();
        this.onChange();
    }

    clicked(event) {
        const option = event.target.closest("[data-at]");

        if (option)
            this.choose(Number(option.dataset.at));
    }

    // Enter accepts the highlighted option, or keeps the text. If the list is closed, Enter submits the form.
    enter() {
        if (this.active >= 0)
            this.choose(this.active);
        else
            this.close();
    }

    key(event) {
        const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10 };
        const open = !this.popup.hidden;

        if (event.key in steps)
            this.move(steps[event.key]);
        else if (event.key === "Enter" && open)
            this.enter();
        else if (event.key === "Escape" && open)
            this.close();
        else
            return;
        event.preventDefault();
        event.stopPropagation();
    }
}

// --- Prepares the events of /api/v1/events for the list: one entry for each name, suggestions, and search.

// Suggestions: the first available event of each row, so that cpu-clock is suggested only if no PMU counts cycles.
// Suggestions with a title are also the cards of the form.
const first = [
    { title: "CPU", use: "where the CPUs' time goes", events: ["cycles", "cpu-clock"] },
    { title: "Off-CPU time", use: "how long tasks wait, and where: sleeping, for disks, for a CPU", events: [offCpu] },
    { title: "Misses", use: "where caches miss", events: ["cache-misses", "LLC-load-misses", "L1-dcache-load-misses"] },
    { use: "where CPUs wait for data", events: ["stalled-cycles-backend", "/stall_backend/"] },
    { use: "where CPUs wait for instructions", events: ["stalled-cycles-frontend", "/stall_frontend/"] },
    { use: "where branches are mispredicted", events: ["branch-misses"] },
    { title: "Faults", use: "where memory is touched first", events: ["page-faults"] },
    { title: "Switches", use: "where tasks stop and wait", events: ["context-switches"] },
];

// Converts the list of the API to [{name, kind, note, text}], one entry for an event of several PMUs. Off-CPU time is
// added, because it cannot be counted and so is missing from the list. `tracepoints` are the tracepoints that clients
// may request.
export function gather(list, tracepoints = []) {
    const waits = { name: offCpu, kind: "software", description: "time that tasks wait", pmus: [] };
    const byName = new Map([[offCpu, waits]]);

    for (const { name, pmu, kind, description } of list) {
        if (!name || kind === "note")
            continue;
        const known = byName.get(name) ?? { name, kind, description, pmus: [] };
        known.pmus.push(pmu);
        byName.set(name, known);
    }
    return [...byName.values()].map((event) => offer(event, tracepoints));
}

function offer({ name, kind, description, pmus }, tracepoints) {
    const refused = kind === "tracepoint" && !tracepoints.includes(name);
    const where = kind === "software" || kind === "tracepoint" ? "" : pmus.join(", ");
    const note = refused ? "not listed in sampler.tracepoints" : [description, where].filter(Boolean).join(" ");

    return { name, kind, note, refused, text: `${name} ${kind} ${description} ${pmus.join(" ")}`.toLowerCase() };
}

function has(offer, wanted) {
    return wanted.startsWith("/") ? offer.name.endsWith(wanted) : offer.name === wanted;
}

// Returns the available suggestions. `note` says what the suggested event is useful for.
export function choices(offers) {
    const found = first.map(({ title, use, events }) => {
        const event = events.map((name) => offers.find((one) => has(one, name))).find(Boolean);

        return event && { ...event, title, note: use };
    });

    return found.filter(Boolean);
}

// Returns the events that contain each word of the text. Names that begin with the text come first, and events that
// clients may not request come last.
export function find(offers, text) {
    const wanted = text.trim().toLowerCase(), words = wanted.split(/\s+/);
    const rank = (one) => (one.refused ? 2 : 0) + (one.name.toLowerCase().startsWith(wanted) ? 0 : 1);

    return offers.filter((one) => words.every((word) => one.text.includes(word)))
        .map((one) => [rank(one), one]).sort(([a], [b]) => a - b).map(([, one]) => one);
}

// --- Sample periods. A clock event is sampled by time, at a frequency. For other events a period is proposed: each
// sample then stands for the same number of events, however unevenly they occur.

const clocks = /^(cpu-cycles|cycles|ref-cycles|bus-cycles|cpu-clock|task-clock|(.*\/)?cpu_cycles\/?)$/;
const rare = /^(page|minor|major)-faults|^(context|cgroup)-switches|migrations/;
const wantedHz = 99; // samples per second on each CPU, as for a clock event

// Returns whether an event is a clock. Modifiers are ignored: "cycles:u" is the event "cycles".
export function isClock(event) {
    return clocks.test(event.trim().replace(/:[a-zA-Z]+$/, ""));
}

// Returns a period with one significant digit, at least 1; null for a clock event. `rate` is the number of events per
// second on a CPU, or null if unknown.
export function proposedPeriod(event, rate) {
    if (isClock(event))
        return null;
    if (rate === null)
        return rare.test(event) ? 1 : 10000;
    if (rate <= wantedHz)
        return 1;
    const period = rate / wantedHz, step = 10 ** Math.floor(Math.log10(period));

    return Math.max(1, Math.floor(period / step) * step);
}
