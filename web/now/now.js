// SPDX-License-Identifier: Apache-2.0
// The view of this moment: what each kind of core, each CPU and the machine's other PMUs do, and did in the last five
// minutes.
import { element, replace, write } from "../element.js";
import { History } from "../history.js";
import { onMissingLibrary } from "../lines.js";
import { duration, time_of } from "../numbers.js";
import { Poll } from "../poll.js";
import { Card } from "./card.js";
import { by_cpu, cards_of, values_of } from "./plan.js";
import { cpus_of, edition_of, usage } from "./readings.js";

const seconds = 2, first_seconds = 0.5, interval_ms = 2000, patience_ms = 17000;
const old_ms = 7000; // a status that is older says nothing about now

function list_of(set) {
    return [...set].join(",");
}

class Now {
    constructor(root, page) {
        if (!page.kept.has("now"))
            page.kept.set("now", { history: new History() });
        this.page = page;
        this.history = page.kept.get("now").history;
        this.cards = new Map();
        this.state = {};
        this.read(page.address.parameters);
        this.note = element("p", { class: "quiet", role: "status" }, "Reading the counters.");
        this.paused = element("p", { class: "warn", role: "status", hidden: true });
        this.no_lines = element("p", { class: "quiet", hidden: true },
                                "perfcountd was built without Chart.js, so there are no lines; the numbers are here.");
        this.grid = element("div", { class: "cards" });
        replace(root, element("h2", {}, "Now"), this.paused, this.no_lines, this.note, this.grid);
        onMissingLibrary(() => (this.no_lines.hidden = false));
        this.poll = new Poll(page, interval_ms, (signal) => this.ask(signal));
    }

    // --- the state in the URL

    read(parameters) {
        const list = (name) => (parameters.get(name) ?? "").split(",").filter((one) => one !== "");

        Object.assign(this.state, { more: new Set(list("more")), closed: new Set(list("closed")),
                                    pmu: parameters.get("pmu") ?? "", metric: parameters.get("metric") ?? "" });
    }

    follow(parameters) {
        this.read(parameters);
        this.show_state();
    }

    write_state() {
        const { more, closed, pmu, metric } = this.state;

        this.page.address.write({ pmu, metric, more: list_of(more), closed: list_of(closed) });
        this.show_state();
    }

    show_state() {
        for (const card of this.cards.values())
            card.follow();
    }

    // --- asking

    async status(signal) {
        const status = await this.page.client.json("api/v1/status", { signal });

        return { status, at: performance.now() };
    }

    async learn(edition, signal) {
        const client = this.page.client;
        const [metrics, pmus] = await Promise.all([client.json("api/v1/metrics", { signal }),
                                                   client.json("api/v1/pmus", { signal })]);

        this.documents = { metrics, pmus };
        this.edition = edition;
    }

    async ask(signal) {
        if (!this.before || performance.now() - this.before.at > old_ms)
            this.before = await this.status(signal);
        const edition = edition_of(this.before.status);
        if (edition !== this.edition)
            await this.learn(edition, signal);
        const rates = await this.page.client.json("api/v1/rates", { signal, patience: patience_ms, parameters: {
            seconds: this.cards.size === 0 ? first_seconds : seconds, collector: ["cpu", "pmu"], totals: "pmu" } });
        const now = await this.status(signal);
        this.take({ ...rates, by_cpu: by_cpu(rates.rates) }, usage(this.before, now), now.status);
        this.before = now;
    }

    // --- showing

    take(rates, used, status) {
        const online = new Set(cpus_of(status.machine.cpus_online));
        const plans = cards_of(this.documents, rates);

        this.make_cards(plans);
        this.history.begin();
        for (const plan of plans) {
            const { values, cpus } = values_of(plan, rates, used, online);
            this.remember(plan, values, cpus);
            this.cards.get(plan.id).take(values, cpus);
        }
        this.show_pause(status);
        this.note.hidden = plans.length > 0;
        write(this.note, "Nothing is counted: the collectors cpu and pmu are off, or have no groups. See Health.");
    }

    // Makes a card again when something else is on it, such as after a reload.
    make_cards(plans) {
        const before = this.cards;

        this.cards = new Map(plans.map((plan) => [plan.id, this.card_of(plan, before.get(plan.id))]));
        for (const card of before.values())
            if (this.cards.get(card.plan.id) !== card)
                card.close();
        if ([...this.cards.values()].some((card) => !card.root.isConnected))
            replace(this.grid, [...this.cards.values()].map((card) => card.root));
    }

    card_of(plan, card) {
        return card?.made_of === JSON.stringify(plan)
            ? card : new Card(this.history, plan, this.state, () => this.write_state());
    }

    remember(plan, values, cpus) {
        for (const [name, one] of values)
            this.history.add(`${plan.id} ${name}`, one.value);
        for (const cpu of cpus)
            for (const [i, one] of cpu.values.entries())
                this.history.add(`${plan.id} ${cpu.cpu} ${plan.cpu_kinds[i].name}`, one.value);
    }

    show_pause(status) {
        const left = status.paused ? status.paused_until - status.timestamp : 0;

        this.paused.hidden = !status.paused;
        write(this.paused, status.paused ? `Counting is paused until ${time_of(Date.now() / 1000 + left)}: for ` +
              `${duration(left)} more there are no numbers of events.` : "");
    }

    close_cards() {
        for (const card of this.cards.values())
            card.close();
        this.cards.clear();
    }

    close() {
        this.poll.close();
        this.close_cards();
        onMissingLibrary(null);
    }
}

export const now = {
    name: "now",
    title: "Now",
    open: (root, page) => new Now(root, page),
};
