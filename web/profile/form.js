// SPDX-License-Identifier: Apache-2.0
// The form of a recording: cards for what to sample, and the duration; under "Advanced" the exact event, the rate, and
// the CPU, cgroup or process.
import { element, plain, replace, write } from "../element.js";
import { count, duration } from "../numbers.js";
import { hindsightOf } from "../scales.js";
import { Picker, choices, isClock, offCpu, proposedPeriod } from "./picker.js";
import { pastOf } from "./recording.js";

const defaultSeconds = "10", live = "live", last = "last";
const spans = ["10", "30", live].map((value) => ({ value, title: value === live ? live : `${value} s` }));
// Software events that are offered until the daemon has listed the events of this machine.
const alwaysThere = ["cpu-clock", offCpu, "page-faults", "context-switches"].map((name) => ({ name }));
const longestSeconds = 3600; // limit until the daemon has sent its configured limit
const minuteS = 60;
const states = ["blocked", "sleeping", "uninterruptible", "stopped", "runnable"];

// The controls, and patterns for the errors that belong to them: an error from the daemon belongs to the first control
// whose pattern matches. The control "rate" sets the parameter frequency or the parameter period.
const culprits = [
    ["event", /^event:|^cpu \d+ |there is no (event|PMU)/],
    ["rate", /frequency|period/],
    ["threshold", /threshold/],
    ["state", /"state"/],
    ["seconds", /seconds are over/],
    ["cpu", /this machine has no CPU/],
    ["cgroup", /cgroup/],
    ["pid", /process/],
];

// Returns the name of the control that an error is about, or null.
export function culprit(sentence) {
    const named = /^parameter "(\w+)"/.exec(sentence)?.[1];
    const name = named === "frequency" || named === "period" ? "rate" : named;

    if (culprits.some(([control]) => control === name))
        return name;
    return culprits.find(([, words]) => words.test(sentence))?.[0] ?? null;
}

function textInput(name, properties) {
    return element("input", { id: `profile-${name}`, name, autocomplete: "off", spellcheck: "false", maxlength: 8000,
                              "aria-describedby": `profile-${name}-fault`, ...properties });
}

// A group of options [{value, title, note}], one of which is selected.
class Options {
    constructor(name, label, onChoose) {
        Object.assign(this, { name, onChoose, inputs: new Map() });
        this.root = element("fieldset", { class: `options ${name}` }, element("legend", { class: "unseen" }, label));
    }

    set(options) {
        const chosen = [...this.inputs].find(([, input]) => input.checked)?.[0];

        this.inputs.clear();
        replace(this.root, this.root.firstChild, options.map((one) => this.option(one)));
        this.choose(chosen ?? null);
    }

    option({ value, title, note }) {
        const input = element("input", { type: "radio", name: `profile-${this.name}`, value,
                                         onchange: () => this.onChoose(value) });

        this.inputs.set(value, input);
        return element("label", {}, input, element("span", {}, element("b", {}, title),
                                                   note ? element("small", {}, note) : null));
    }

    choose(value) {
        for (const [key, input] of this.inputs)
            input.checked = key === value;
    }
}

export class Form {
    // on: {record(), recordBoth(), stop(), change()}
    constructor(on) {
        this.on = on;
        this.rates = new Map(); // event → events per second on a CPU, for the events that the daemon counts
        this.longest = longestSeconds;
        this.hindsight = 0;
        this.picker = new Picker({ id: "profile-event", name: "event", "aria-describedby": "profile-event-fault" },
                                 () => this.changed());
        this.kinds = new Options("kinds", "What is sampled", (value) => this.set({ event: value }));
        this.setKinds(alwaysThere);
        this.spans = new Options("spans", "How long", (value) => this.set({ seconds: value }));
        this.spans.set(spans);
        this.inputs = {
            event: this.picker.input,
            rate: textInput("rate", { inputmode: "numeric", size: 10 }),
            threshold: textInput("threshold", { size: 8, placeholder: "1ms" }),
            state: element("select", { id: "profile-state", onchange: () => this.changed() },
                           element("option", { value: "" }, "all"),
                           ...states.map((value) => element("option", { value }, value))),
            seconds: textInput("seconds", { inputmode: "decimal", size: 5, placeholder: defaultSeconds }),
            cpu: textInput("cpu", { size: 8, placeholder: "all" }),
            cgroup: textInput("cgroup", { size: 22, placeholder: "all", list: "profile-cgroups" }),
            pid: textInput("pid", { inputmode: "numeric", size: 8, placeholder: "all" }),
        };
        this.rateKind = element("select", { "aria-label": "Rate by", onchange: () => this.changed() },
                                element("option", { value: "frequency" }, "Samples per second"),
                                element("option", { value: "period" }, "Events per sample"));
        this.faults = {};
        this.fields = {};
        this.cgroups = element("datalist", { id: "profile-cgroups" });
        this.where = element("span", { class: "where" });
        this.proposal = element("span", { class: "quiet proposal" });
        this.recordButton = element("button", { type: "submit", class: "main" }, "Record");
        this.bothButton = element("button", { type: "button", hidden: true, onclick: on.recordBoth },
                                  "Record on and off CPU");
        this.stopButton = element("button", { type: "button", disabled: true, onclick: on.stop }, "Stop");
        this.root = this.build();
        for (const [name, input] of Object.entries(this.inputs))
            if (name !== "event" && name !== "state")
                input.addEventListener("change", () => this.changed());
    }

    build() {
        this.advanced = element("details", { class: "advanced" }, element("summary", {}, "Advanced"),
            element("div", { class: "controls" }, this.field("event", "Event", this.picker.root),
                    this.field("rate", "Rate on each CPU", element("span", { class: "pair" }, this.rateKind,
                                                                   this.inputs.rate)),
                    this.field("threshold", "Waits of at least"), this.field("state", "State"),
                    this.field("seconds", "Seconds"), this.field("cpu", "CPUs"), this.field("cgroup", "Cgroup"),
                    this.field("pid", "Process id"), this.cgroups));
        return element("form", { class: "card toolbar", "aria-label": "Recording",
                                 onsubmit: (event) => this.submit(event) },
                       element("div", { class: "bar-of-card" }, this.kinds.root, this.spans.root,
                               element("span", { class: "pair" }, this.recordButton, this.bothButton, this.stopButton),
                               element("span", { class: "about" }, this.where, this.proposal)), this.advanced);
    }

    field(name, title, control = this.inputs[name]) {
        this.faults[name] = element("span", { id: `profile-${name}-fault`, class: "bad" });
        this.fields[name] = element("div", { class: "field" }, element("label", { for: `profile-${name}` }, title),
                                    control, this.faults[name]);
        return this.fields[name];
    }

    // The card of the default event has an empty value, so that the URL omits it.
    setKinds(offers) {
        this.kinds.set(choices(offers).filter((one) => one.title).map(({ name, title, note }, i) =>
            ({ value: i === 0 || name === this.picker.input.placeholder ? "" : name, title, note })));
    }

    set(values) {
        for (const [name, value] of Object.entries(values))
            this.inputs[name].value = value;
        this.changed();
    }

    changed() {
        this.show();
        this.on.change();
    }

    // Returns the event to sample, which is the default if none was selected.
    get event() {
        return this.inputs.event.value.trim() || this.inputs.event.placeholder;
    }

    // Returns the proposed sample period of an event, or null.
    proposed(event = this.event) {
        const { rate } = this.inputs, isChosen = this.isPast || rate.value.trim() !== "" || /[{/]/.test(event);

        return isChosen || !event || event === offCpu ? null : proposedPeriod(event, this.rates.get(event) ?? null);
    }

    // Updates the parts of the form that depend on other controls.
    show() {
        const { cpu, cgroup, pid, seconds, rate, threshold } = this.inputs, period = this.proposed();
        const waits = this.event === offCpu && !this.isPast;
        const canBoth = !this.isPast && Boolean(cgroup.value.trim() || pid.value.trim());
        const parts = [cgroup.value.trim() && ["cgroup", plain(cgroup.value.trim())],
                       cpu.value.trim() && ["cpu", `CPU ${plain(cpu.value.trim())}`],
                       pid.value.trim() && ["pid", `process ${plain(pid.value.trim())}`]].filter(Boolean);

        this.fields.rate.hidden = waits;
        this.fields.threshold.hidden = this.fields.state.hidden = !waits && !canBoth;
        this.bothButton.hidden = !canBoth;
        this.kinds.root.disabled = this.isPast;
        this.kinds.choose(this.event === this.inputs.event.placeholder ? "" : this.event);
        this.spans.choose(seconds.value.trim() || defaultSeconds);
        replace(this.where, parts.length === 0 ? "of the whole machine" : "only",
                parts.map(([name, text]) => element("button", { type: "button", class: "chip",
                    "aria-label": `${text}: record the whole machine instead`,
                    onclick: () => this.set({ [name]: "" }) }, text)));
        write(this.proposal, this.isPast ? "samples that were already taken"
            : waits ? `each wait of at least ${threshold.value.trim() || threshold.placeholder}` : period === null ? ""
            : period === 1 ? "each event is a sample" : `one sample per ${count(period)} events`);
        if (period !== null)
            rate.placeholder = `period ${period}`;
        else
            rate.placeholder = this.usualRate ?? "";
    }

    submit(event) {
        event.preventDefault();
        this.picker.close();
        if (!this.recordButton.disabled)
            this.on.record();
    }

    // Returns the values for the URL, which omits empty values. The rate is included only for the selected event.
    values(event = this.inputs.event.value.trim()) {
        const { rate, threshold, state, seconds, cpu, cgroup, pid } = this.inputs;
        const isChosen = event === this.inputs.event.value.trim();
        const how = event === offCpu ? { threshold: threshold.value.trim(), state: state.value }
                                     : { [this.rateKind.value]: isChosen ? rate.value.trim() : "" };

        return { event, ...how,
                 seconds: seconds.value.trim() || defaultSeconds, cpu: cpu.value.trim(), cgroup: cgroup.value.trim(),
                 pid: pid.value.trim() };
    }

    get isLive() {
        return this.inputs.seconds.value.trim() === live;
    }

    // Returns whether the request is for samples that were already taken.
    get isPast() {
        return this.inputs.seconds.value.trim() === last;
    }

    // Returns the parameters of the request for samples.
    request(event = this.inputs.event.value.trim()) {
        const values = this.values(event), period = this.proposed(event || this.inputs.event.placeholder);

        if (this.isPast)
            return pastOf(values, this.hindsight || minuteS);
        if (this.isLive)
            values.seconds = String(this.longest);
        return period === null ? values : { ...values, frequency: "", period: String(period) };
    }

    // Returns the parameters for an off-CPU and an on-CPU recording of the same target.
    requests() {
        return [isClock(this.event) ? this.inputs.event.value.trim() : "", offCpu].map((event) => this.request(event));
    }

    // Fills in the form from the parameters of a link. A link never starts a recording; with the parameter `start`, the
    // button has the focus, so that Enter starts the recording.
    fill(parameters) {
        for (const name of ["event", "threshold", "state", "cpu", "cgroup", "pid"])
            this.inputs[name].value = parameters.get(name) ?? "";
        this.inputs.seconds.value = parameters.get("seconds") ?? defaultSeconds;
        this.rateKind.value = parameters.has("period") ? "period" : "frequency";
        this.inputs.rate.value = parameters.get(this.rateKind.value) ?? "";
        this.show();
        if (parameters.has("start"))
            this.recordButton.focus();
    }

    // Offers the events and cgroups of this machine. `rates` maps each event to its rate per second on a CPU.
    offer(offers, cgroups, sampler, rates) {
        const cycles = offers.some(({ name }) => name === "cycles");
        const configured = sampler?.event && sampler.event !== "auto" ? sampler.event : null;

        this.picker.setEvents(offers);
        this.inputs.event.placeholder = configured ?? (cycles ? "cycles" : "cpu-clock");
        this.usualRate = sampler?.period ? `period ${sampler.period}` : String(sampler?.frequency ?? "");
        this.longest = sampler?.max_seconds ?? longestSeconds;
        this.rates = rates;
        this.hindsight = hindsightOf(sampler);
        this.spans.set(this.hindsight > 0 ? [...spans, { value: last, title: this.hindsight === minuteS ? "Last minute"
            : `Last ${duration(this.hindsight).replace(/ 0 \w+$/, "")}` }] : spans);
        this.setKinds(offers);
        replace(this.cgroups, ...cgroups.map(({ cgroup, name }) =>
            element("option", { value: cgroup, label: plain(name ?? cgroup) })));
        this.show();
    }

    // Shows an error beside the control to which it belongs. Returns false if the error belongs to no control.
    accuse(sentence) {
        const name = culprit(sentence);

        if (!name)
            return false;
        write(this.faults[name], sentence);
        this.advanced.open = true;
        this.inputs[name].setAttribute("aria-invalid", "true");
        this.inputs[name].focus();
        return true;
    }

    acquit() {
        for (const [name, input] of Object.entries(this.inputs)) {
            write(this.faults[name], "");
            input.removeAttribute("aria-invalid");
        }
    }

    // Enables either Record or Stop, and moves the focus from the disabled button to the enabled one.
    setRecording(recording) {
        const [from, to] = recording ? [this.recordButton, this.stopButton] : [this.stopButton, this.recordButton];
        const moves = document.activeElement === from;

        to.disabled = false;
        if (moves)
            to.focus();
        from.disabled = true;
        this.bothButton.disabled = recording;
    }
}
