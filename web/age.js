// SPDX-License-Identifier: Apache-2.0
// How old the numbers of a view are. They are dimmed, and their age is said, while no answer comes, or while an answer
// has a reason why nothing new is in it: a number that is not of now is neither 0 nor left as if it were.
import { element, write } from "./element.js";
import { duration } from "./numbers.js";

const tickMs = 1000;

// The sentence for numbers that are `ms` old, or that there have never been: null. "" while they are new enough.
export function sentenceOfAge(ms, reason, afterMs) {
    if (!reason && (ms === null || ms < afterMs))
        return "";
    const age = ms === null ? "" : `These numbers are ${duration(ms / 1000)} old: `;
    const why = reason || "no answer has come since.";

    return age ? `${age}${why}` : `${why[0].toUpperCase()}${why.slice(1)}`;
}

export class Age {
    // `nodes` have the numbers. `note`, which the view puts beside them, has the sentence. Numbers are old after
    // `afterMs` without an answer.
    constructor(page, nodes, { afterMs = 7000 } = {}) {
        Object.assign(this, { page, nodes, afterMs, at: null, reason: "" });
        this.note = element("p", { class: "warn age", hidden: true });
        this.forget = page.visibility.onChange(() => this.tick());
        this.tick();
    }

    // To be called for each answer. `reason` says why it has no numbers, as a sentence that can follow a colon.
    take(reason = "") {
        if (!reason)
            this.at = performance.now();
        this.reason = reason;
        this.show();
    }

    show() {
        const text = sentenceOfAge(this.at === null ? null : performance.now() - this.at, this.reason, this.afterMs);

        for (const node of this.nodes)
            node.classList.toggle("old", text !== "" && this.at !== null);
        if (text && this.note.hidden)
            this.page.say(text);
        this.note.hidden = text === "";
        write(this.note, text);
    }

    // Once a second, while somebody looks.
    tick() {
        clearTimeout(this.timer);
        if (!this.page.visibility.visible)
            return;
        this.show();
        this.timer = setTimeout(() => this.tick(), tickMs);
    }

    close() {
        clearTimeout(this.timer);
        this.forget();
    }
}
