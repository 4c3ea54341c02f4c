// SPDX-License-Identifier: Apache-2.0
// The controls of a recording: what is sampled, how often, where, and how long.
import { element, plain, replace, write } from "../element.js";
import { Picker } from "./picker.js";

const defaultSeconds = "10";

// A sentence of the daemon belongs to the first control whose words it has. The rate has two names.
const culprits = [
    ["event", /^event:|^cpu \d+ |there is no (event|PMU)/],
    ["rate", /frequency|period/],
    ["seconds", /seconds are over/],
    ["cpu", /there is no CPU/],
    ["cgroup", /cgroup/],
    ["pid", /process/],
];

// The name of the control that a sentence is about, or null.
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

export class Form {
    // on: {record(), stop(), change()}
    constructor(on) {
        this.on = on;
        this.picker = new Picker({ id: "profile-event", name: "event", "aria-describedby": "profile-event-fault" },
                                 on.change);
        this.inputs = {
            event: this.picker.input,
            rate: textInput("rate", { inputmode: "numeric", size: 10 }),
            seconds: textInput("seconds", { inputmode: "decimal", size: 5, placeholder: defaultSeconds }),
            cpu: textInput("cpu", { size: 8, placeholder: "all" }),
            cgroup: textInput("cgroup", { size: 22, placeholder: "all", list: "profile-cgroups" }),
            pid: textInput("pid", { inputmode: "numeric", size: 8, placeholder: "all" }),
        };
        this.rateKind = element("select", { "aria-label": "Rate by", onchange: on.change },
                                element("option", { value: "frequency" }, "Samples a second"),
                                element("option", { value: "period" }, "Events a sample"));
        this.faults = {};
        this.cgroups = element("datalist", { id: "profile-cgroups" });
        this.recordButton = element("button", { type: "submit", class: "main" }, "Record");
        this.stopButton = element("button", { type: "button", disabled: true, onclick: on.stop }, "Stop");
        this.root = this.build();
        for (const [name, input] of Object.entries(this.inputs))
            if (name !== "event")
                input.addEventListener("change", on.change);
    }

    build() {
        const fields = [
            this.field("event", "Event", this.picker.root),
            this.field("rate", "Rate on each CPU", element("span", { class: "pair" }, this.rateKind, this.inputs.rate)),
            this.field("seconds", "Seconds"),
            this.field("cpu", "CPUs"),
            this.field("cgroup", "Cgroup"),
            this.field("pid", "Process id"),
        ];

        const properties = { class: "controls", "aria-label": "Recording", onsubmit: (event) => this.submit(event) };

        return element("form", properties, ...fields, this.cgroups,
                       element("span", { class: "pair" }, this.recordButton, this.stopButton));
    }

    field(name, title, control = this.inputs[name]) {
        this.faults[name] = element("span", { id: `profile-${name}-fault`, class: "bad" });
        return element("div", { class: "field" }, element("label", { for: `profile-${name}` }, title), control,
                       this.faults[name]);
    }

    submit(event) {
        event.preventDefault();
        this.picker.close();
        if (!this.recordButton.disabled)
            this.on.record();
    }

    // As the URL and the API get them: empty values are left out by both.
    values() {
        const { event, rate, seconds, cpu, cgroup, pid } = this.inputs;

        return { event: event.value.trim(), [this.rateKind.value]: rate.value.trim(),
                 seconds: seconds.value.trim() || defaultSeconds, cpu: cpu.value.trim(), cgroup: cgroup.value.trim(),
                 pid: pid.value.trim() };
    }

    fill(parameters) {
        for (const name of ["event", "cpu", "cgroup", "pid"])
            this.inputs[name].value = parameters.get(name) ?? "";
        this.inputs.seconds.value = parameters.get("seconds") ?? defaultSeconds;
        this.rateKind.value = parameters.has("period") ? "period" : "frequency";
        this.inputs.rate.value = parameters.get(this.rateKind.value) ?? "";
    }

    offer(offers, cgroups, sampler) {
        const cycles = offers.some(({ name }) => name === "cycles");
        const configured = sampler?.event && sampler.event !== "auto" ? sampler.event : null;

        this.picker.setEvents(offers);
        this.inputs.event.placeholder = configured ?? (cycles ? "cycles" : "cpu-clock");
        this.inputs.rate.placeholder = sampler?.period ? `period ${sampler.period}` : String(sampler?.frequency ?? "");
        replace(this.cgroups, ...cgroups.map(({ cgroup, name }) =>
            element("option", { value: cgroup, label: plain(name ?? cgroup) })));
    }

    // Shows a sentence beside the control that it is about. Returns whether there is one.
    accuse(sentence) {
        const name = culprit(sentence);

        if (!name)
            return false;
        write(this.faults[name], sentence);
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

    // The focus goes to the button that is of use now, where it is on the other one.
    setRecording(recording) {
        const [from, to] = recording ? [this.recordButton, this.stopButton] : [this.stopButton, this.recordButton];
        const moves = document.activeElement === from;

        to.disabled = false;
        if (moves)
            to.focus();
        from.disabled = true;
    }
}
