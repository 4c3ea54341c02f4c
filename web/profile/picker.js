// SPDX-License-Identifier: Apache-2.0
// A box for an event: any text may be typed, and a list below it offers the events of this machine (a combobox, as the
// ARIA practices describe it: the focus stays in the box).
import { element, plain, replace, write } from "../element.js";

export const offCpu = "off-cpu"; // samples each wait, so it has a threshold and no rate
const shownMax = 60; // a longer list is searched, not read

export class Picker {
    // `properties` are of the input; onChange() is called when an event was chosen or typed.
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
        this.list.addEventListener("mousedown", (event) => event.preventDefault()); // the focus stays
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

    // From the box upwards is the last option, and from the last one downwards the box again.
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

    // Enter takes the option, or leaves the text as it is; where the list is closed, it is the form's.
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

// --- The events of /api/v1/events as the picker offers them: one entry for each name, first choices, and searching.

// The first choices: of each line the first event that this machine has, so cpu-clock only where no PMU counts cycles.
// Those with a title are the cards of the form.
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

// [{name, kind, note, text}] of the API's list, in which off-CPU time is not, as it cannot be counted: an event of
// several PMUs is one. `tracepoints` are those that clients may name.
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

// The first choices that are there, their note being what they are for.
export function choices(offers) {
    const found = first.map(({ title, use, events }) => {
        const event = events.map((name) => offers.find((one) => has(one, name))).find(Boolean);

        return event && { ...event, title, note: use };
    });

    return found.filter(Boolean);
}

// Those with each word of the text: names that begin with it come first, what clients may not name comes last.
export function find(offers, text) {
    const wanted = text.trim().toLowerCase(), words = wanted.split(/\s+/);
    const rank = (one) => (one.refused ? 2 : 0) + (one.name.toLowerCase().startsWith(wanted) ? 0 : 1);

    return offers.filter((one) => words.every((word) => one.text.includes(word)))
        .map((one) => [rank(one), one]).sort(([a], [b]) => a - b).map(([, one]) => one);
}

// --- How many events are between two samples. Of a clock samples are taken by time, at a frequency. Of other events a
// number is proposed: then each sample stands for as many events, however unevenly they come.

const clocks = /^(cpu-cycles|cycles|ref-cycles|bus-cycles|cpu-clock|task-clock|(.*\/)?cpu_cycles\/?)$/;
const rare = /^(page|minor|major)-faults|^(context|cgroup)-switches|migrations/;
const wantedHz = 99; // samples a second on each CPU, as a sampler of the clock takes

// Without the modifiers behind it: "cycles:u" is "cycles".
export function isClock(event) {
    return clocks.test(event.trim().replace(/:[a-zA-Z]+$/, ""));
}

// `rate`: events per second on a CPU, or null where that is not known. A number of one digit, at least 1; null for a
// clock.
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
