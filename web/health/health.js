// SPDX-License-Identifier: Apache-2.0
// The Health view: what is not counted and how to fix it, the cost of the daemon, its configuration; pause and reload.
import { Age } from "../age.js";
import { element, replace, write } from "../element.js";
import { Poll } from "../poll.js";
import { Cost, Documents, Facts } from "./facts.js";
import { findings } from "./findings.js";
import { Operations } from "./operations.js";

const oftenMs = 5000;

function verdict(found, status) {
    const n = found.filter((one) => one.level !== "note").length;

    if (status.paused)
        return "Counting is paused.";
    if (n === 0)
        return found.length === 0 ? "All is well: everything that the configuration asks for is counted."
            : "All is well: everything that this machine can count is counted.";
    return n === 1 ? "One thing needs attention." : `${n} things need attention.`;
}

function article({ level, title, sentence, places }) {
    return element("li", { class: `card finding ${level}` }, element("h3", {}, title), element("p", {}, sentence),
        places.length > 0 ? element("ul", {}, ...places.map((place) => element("li", {}, place))) : null);
}

class Health {
    constructor(root, page) {
        this.page = page;
        this.verdict = element("span", { id: "verdict" }, "Waiting for the daemon…");
        this.list = element("ul", { class: "findings" });
        this.cost = new Cost(page);
        this.facts = new Facts();
        this.documents = new Documents(page);
        this.operations = new Operations(page, () => this.poll.resume());
        const cards = element("div", { class: "cards" }, this.operations.node, this.cost.node, this.facts.node);
        this.age = new Age(page, [this.verdict, this.list, this.cost.node, this.facts.node], { afterMs: 3 * oftenMs });
        replace(root, element("h2", {}, "Health", " ", this.verdict), this.age.note, this.list, cards,
            this.documents.node);
        this.poll = new Poll(page, oftenMs, (signal) => this.ask(signal));
    }

    async ask(signal) {
        const [status, pause] = await Promise.all([this.page.edition.status(signal),
                                                   this.page.client.json("api/v1/pause", { signal })]);

        this.age.take();
        this.show(status);
        this.cost.update(status);
        this.facts.update(status);
        this.operations.update(pause);
    }

    // The list of findings is rebuilt only if it has changed.
    show(status) {
        const found = findings(status);
        const text = JSON.stringify(found);

        write(this.verdict, verdict(found, status));
        this.verdict.classList.toggle("warn", status.paused || found.some((one) => one.level !== "note"));
        this.verdict.classList.toggle("good", !this.verdict.classList.contains("warn"));
        if (text !== this.text)
            replace(this.list, ...found.map(article));
        this.text = text;
    }

    follow() {
        this.documents.follow();
    }

    close() {
        this.poll.close();
        this.age.close();
        this.operations.close();
        this.cost.close();
        this.documents.close();
    }
}

export function open(root, page) {
    return new Health(root, page);
}
