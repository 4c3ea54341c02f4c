// SPDX-License-Identifier: Apache-2.0
// The view Health: what is not counted and what helps, what the daemon costs, its configuration; pause and reload.
import { element, replace, write } from "../element.js";
import { Poll } from "../poll.js";
import { Cost, Documents, Facts } from "./facts.js";
import { findings } from "./findings.js";
import { Operations } from "./operations.js";

const oftenMs = 5000;

function verdict(found, status) {
    if (status.paused)
        return "Counting is paused.";
    if (found.length === 0)
        return "All is well: everything that the configuration asks for is counted.";
    return found.length === 1 ? "One thing needs attention." : `${found.length} things need attention.`;
}

function article({ level, title, sentence, places }) {
    return element("li", { class: `card finding ${level}` }, element("h3", {}, title), element("p", {}, sentence),
        places.length > 0 ? element("ul", {}, ...places.map((place) => element("li", {}, place))) : null);
}

class Health {
    constructor(root, page) {
        this.page = page;
        this.verdict = element("p", { id: "verdict" }, "The page asks the daemon…");
        this.list = element("ul", { class: "findings" });
        this.cost = new Cost(page);
        this.facts = new Facts();
        this.documents = new Documents(page);
        this.operations = new Operations(page, () => this.poll.resume());
        replace(root, element("h2", {}, "Health"), this.verdict, this.list,
            element("div", { class: "cards" }, this.operations.node, this.cost.node, this.facts.node),
            this.documents.node);
        this.poll = new Poll(page, oftenMs, (signal) => this.ask(signal));
    }

    async ask(signal) {
        const [status, pause] = await Promise.all(["api/v1/status", "api/v1/pause"].map(
            (path) => this.page.client.json(path, { signal })));

        this.page.edition.compare(status);
        this.show(status);
        this.cost.update(status);
        this.facts.update(status);
        this.operations.update(pause);
    }

    // The list is made again only where it is another one.
    show(status) {
        const found = findings(status);
        const text = JSON.stringify(found);

        write(this.verdict, verdict(found, status));
        this.verdict.className = found.length > 0 || status.paused ? "warn" : "good";
        if (text !== this.text)
            replace(this.list, ...found.map(article));
        this.text = text;
    }

    follow() {
        this.documents.follow();
    }

    close() {
        this.poll.close();
        this.operations.close();
        this.cost.close();
        this.documents.close();
    }
}

export const health = {
    name: "health",
    title: "Health",
    open(root, page) {
        return new Health(root, page);
    },
};
