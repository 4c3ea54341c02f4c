// SPDX-License-Identifier: Apache-2.0
// The operator's controls: pause and resume counting, reload the configuration. Other clients may pause, resume or
// reload at any time, too. A client that is not an operator is told why it may not use these controls, and how to get
// permission.
import { element, write } from "../element.js";
import { Fault } from "../client.js";
import { duration, timeOf } from "../numbers.js";
import { sentence } from "./findings.js";

const longestS = 3600;

export class Operations {
    // `changed` is called after the daemon has carried out an operation.
    constructor(page, changed) {
        this.page = page;
        this.changed = changed;
        this.ends = null; // end of the pause, on the monotonic clock
        this.controller = new AbortController();
        this.state = element("p", { class: "state" }, "");
        this.result = element("p", { class: "result", role: "status" });
        this.refusal = element("p", { class: "quiet refusal", hidden: true });
        this.make();
        this.node = element("section", { class: "card operations", "aria-label": "Operation" },
            element("h3", {}, "Operation"), this.state, this.form, this.confirmation,
            element("div", { class: "controls" }, this.resume, this.reload), this.result, this.refusal);
        this.update({ paused: false });
        this.enable(false); // disabled until the daemon says whether this client is an operator
        write(this.state, "");
    }

    enable(may) {
        for (const control of [this.seconds, this.ask, this.resume, this.reload])
            control.disabled = !may;
    }

    button(text, run, main = false) {
        return element("button", { type: "button", class: main ? "main" : null, onclick: run }, text);
    }

    make() {
        this.seconds = element("input", { type: "number", min: 1, max: longestS, value: 60, required: true });
        this.ask = element("button", { type: "submit" }, "Pause…");
        this.form = element("form", { class: "controls", onsubmit: (event) => this.confirm(event) },
            element("label", {}, "Pause for seconds", this.seconds), this.ask);
        this.question = element("p", { id: "pause-question" });
        this.sure = this.button("Pause now", () => this.pause(), true);
        this.confirmation = element("div", { class: "confirmation", role: "group", hidden: true,
            "aria-labelledby": "pause-question", onkeydown: (event) => event.key === "Escape" && this.leave() },
            this.question, element("div", { class: "controls" }, this.sure,
                this.button("Keep counting", () => this.leave())));
        this.resume = this.button("Resume counting", () => this.run("DELETE", "api/v1/pause", {},
            "Counting has resumed."));
        this.reload = this.button("Reload the configuration", () => this.run("POST", "-/reload", {},
            "The configuration was reloaded."));
    }

    // A pause affects all clients, so it must be confirmed.
    confirm(event) {
        event.preventDefault();
        if (!this.form.reportValidity())
            return;
        write(this.question, `For ${duration(Number(this.seconds.value))} nothing is counted for any client of this ` +
            "machine, and sampling stops. Totals keep their values.");
        this.confirmation.hidden = false;
        this.sure.focus();
    }

    leave() {
        this.confirmation.hidden = true;
        this.ask.focus();
    }

    pause() {
        this.leave();
        this.run("POST", "api/v1/pause", { seconds: this.seconds.value }, "Counting is paused.");
    }

    async run(method, path, parameters, done) {
        const { signal } = this.controller;

        write(this.result, "…");
        this.result.classList.remove("bad");
        try {
            await this.page.client.text(path, { method, parameters, signal });
            write(this.result, `${timeOf(Date.now() / 1000)}: ${done}`);
        } catch (error) {
            if (signal.aborted)
                return;
            this.result.classList.add("bad");
            write(this.result, error instanceof Fault && error.status === 400 ? error.reason : error.message);
        }
        this.changed();
    }

    // Shows the answer of GET /api/v1/pause.
    update({ paused, seconds, refusal }) {
        this.paused = paused;
        this.ends = paused ? performance.now() + seconds * 1000 : null;
        this.enable(!refusal);
        this.form.hidden = paused;
        this.resume.hidden = !paused;
        if (paused || refusal)
            this.confirmation.hidden = true;
        this.refusal.hidden = !refusal;
        write(this.refusal, refusal ? sentence(`You may not pause and reload: ${refusal}`) : "");
        this.tick();
    }

    // Called once a second during a pause. The countdown is hidden from screen readers.
    tick() {
        clearTimeout(this.timer);
        if (!this.paused) {
            write(this.state, "Counting.");
            return;
        }
        const left = Math.max(0, Math.ceil((this.ends - performance.now()) / 1000));
        write(this.state, left > 0 ? `Paused: ${duration(left)} left.` : "Paused: resuming now.");
        this.timer = setTimeout(() => this.tickOn(left), 1000);
    }

    tickOn(left) {
        if (!this.page.visibility.visible)
            return;
        this.tick();
        if (left <= 1)
            this.changed();
    }

    close() {
        clearTimeout(this.timer);
        this.controller.abort();
    }
}
