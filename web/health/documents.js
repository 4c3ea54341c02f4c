// SPDX-License-Identifier: Apache-2.0
// Documents that are asked for only when their disclosure is open: the metrics that have no value, and the configuration.
import { element, replace } from "../element.js";
import { Poll } from "../poll.js";
import { absences } from "./findings.js";

const often_ms = 60000;

function showMetrics(body, { metrics }) {
    const reasons = absences(metrics);
    const items = reasons.map(({ sentence, where, metrics: names }) => element("li", {},
        element("p", {}, element("b", {}, where), `: ${sentence}`),
        element("p", { class: "quiet" }, names.join(", "))));

    replace(body, items.length > 0 ? element("ul", {}, ...items) : element("p", {}, "Each metric has a value."));
}

function showConfig(body, document) {
    replace(body, element("pre", { class: "scroll", tabindex: 0, role: "region", "aria-label": "The configuration" },
        JSON.stringify(document, null, 2)));
}

const disclosures = {
    metrics: { title: "Derived metrics without a value, and why", path: "api/v1/metrics", show: showMetrics },
    config: { title: "The configuration that runs", path: "api/v1/config", show: showConfig },
};

// Open ones are in the address: "#health?open=metrics,config".
class Disclosure {
    constructor(page, { title, path, show }, changed) {
        this.page = page;
        this.path = path;
        this.show = show;
        this.poll = null;
        this.body = element("div");
        this.node = element("details", { class: "card", ontoggle: () => {
            this.follow();
            changed();
        } }, element("summary", {}, title), this.body);
    }

    follow() {
        if (this.node.open && !this.poll)
            this.poll = new Poll(this.page, often_ms, async (signal) => {
                const document = await this.page.client.json(this.path, { signal });
                const text = JSON.stringify(document);
                if (text !== this.text)
                    this.show(this.body, document);
                this.text = text;
            });
        if (!this.node.open)
            this.close();
    }

    close() {
        this.poll?.close();
        this.poll = null;
    }
}

export class Documents {
    constructor(page) {
        this.page = page;
        this.all = Object.entries(disclosures).map(([name, one]) =>
            [name, new Disclosure(page, one, () => this.write())]);
        this.node = element("section", { "aria-label": "Documents" }, ...this.all.map(([, one]) => one.node));
        this.follow();
    }

    // Opens and closes what the address has.
    follow() {
        const open = (this.page.address.parameters.get("open") ?? "").split(",");

        for (const [name, one] of this.all)
            one.node.open = open.includes(name);
    }

    write() {
        this.page.address.write({ open: this.all.filter(([, one]) => one.node.open).map(([name]) => name).join(",") });
    }

    close() {
        for (const [, one] of this.all)
            one.close();
    }
}
