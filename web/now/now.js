// SPDX-License-Identifier: Apache-2.0
// The view of this moment: what each kind of core, each CPU and the machine's other PMUs do, and did in the last five
// minutes.
import { element, replace, write } from "../element.js";
import { History } from "../history.js";
import { onMissingLibrary } from "../lines.js";
import { duration, timeOf } from "../numbers.js";
import { Poll } from "../poll.js";
import { Card } from "./card.js";
import { byCpu, cardsOf, valuesOf } from "./plan.js";
import { cpusOf, editionOf, usage } from "./readings.js";

const seconds = 2, firstSeconds = 0.5, intervalMs = 2000, patienceMs = 17000;
const oldMs = 7000; // a status that is older says nothing about now

function listOf(set) {
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
        this.noLines = element("p", { class: "quiet", hidden: true },
                               "perfcountd was built without Chart.js, so there are no lines; the numbers are here.");
        this.grid = element("div", { class: "cards" });
        replace(root, element("h2", {}, "Now"), this.paused, this.noLines, this.note, this.grid);
        onMissingLibrary(() => (this.noLines.hidden = false));
        this.poll = new Poll(page, intervalMs, (signal) => this.ask(signal));
    }

    // --- the state in the URL

    read(parameters) {
        const list = (name) => (parameters.get(name) ?? "").split(",").filter((one) => one !== "");

        Object.assign(this.state, { more: new Set(list("more")), closed: new Set(list("closed")),
                                    pmu: parameters.get("pmu") ?? "", metric: parameters.get("metric") ?? "" });
    }

    follow(parameters) {
        this.read(parameters);
        this.showState();
    }

    writeState() {
        const { more, closed, pmu, metric } = this.state;

        this.page.address.write({ pmu, metric, more: listOf(more), closed: listOf(closed) });
        this.showState();
    }

    showState() {
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
        if (!this.before || performance.now() - this.before.at > oldMs)
            this.before = await this.status(signal);
        const edition = editionOf(this.before.status);
        if (edition !== this.edition)
            await this.learn(edition, signal);
        const rates = await this.page.client.json("api/v1/rates", { signal, patience: patienceMs, parameters: {
            seconds: this.cards.size === 0 ? firstSeconds : seconds, collector: ["cpu", "pmu"], totals: "pmu" } });
        const now = await this.status(signal);
        this.take({ ...rates, byCpu: byCpu(rates.rates) }, usage(this.before, now), now.status);
        this.before = now;
    }

    // --- showing

    take(rates, used, status) {
        const online = new Set(cpusOf(status.machine.cpus_online));
        const plans = cardsOf(this.documents, rates);

        this.makeCards(plans);
        this.history.begin();
        for (const plan of plans) {
            const { values, cpus } = valuesOf(plan, rates, used, online);
            this.remember(plan, values, cpus);
            this.cards.get(plan.id).take(values, cpus);
        }
        this.showPause(status);
        this.note.hidden = plans.length > 0;
        write(this.note, "Nothing is counted: the collectors cpu and pmu are off, or have no groups. See Health.");
    }

    // Makes a card again when something else is on it, such as after a reload.
    makeCards(plans) {
        const before = this.cards;

        this.cards = new Map(plans.map((plan) => [plan.id, this.cardOf(plan, before.get(plan.id))]));
        for (const card of before.values())
            if (this.cards.get(card.plan.id) !== card)
                card.close();
        if ([...this.cards.values()].some((card) => !card.root.isConnected))
            replace(this.grid, [...this.cards.values()].map((card) => card.root));
    }

    cardOf(plan, card) {
        return card?.madeOf === JSON.stringify(plan)
            ? card : new Card(this.history, plan, this.state, () => this.writeState());
    }

    remember(plan, values, cpus) {
        for (const [name, one] of values)
            this.history.add(`${plan.id} ${name}`, one.value);
        for (const cpu of cpus)
            for (const [i, one] of cpu.values.entries())
                this.history.add(`${plan.id} ${cpu.cpu} ${plan.cpuKinds[i].name}`, one.value);
    }

    showPause(status) {
        const left = status.paused ? status.paused_until - status.timestamp : 0;

        this.paused.hidden = !status.paused;
        write(this.paused, status.paused ? `Counting is paused until ${timeOf(Date.now() / 1000 + left)}: for ` +
              `${duration(left)} more there are no numbers of events.` : "");
    }

    closeCards() {
        for (const card of this.cards.values())
            card.close();
        this.cards.clear();
    }

    close() {
        this.poll.close();
        this.closeCards();
        onMissingLibrary(null);
    }
}

export const now = {
    name: "now",
    title: "Now",
    open: (root, page) => new Now(root, page),
};
