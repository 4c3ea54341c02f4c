// SPDX-License-Identifier: Apache-2.0
// Shows how old the numbers of a view are. While no answer arrives, or answers contain nothing new, the numbers are
// dimmed and a sentence gives their age: a stale number must not look like 0 or like a current number.
import { element, write } from "./element.js";
import { duration } from "./numbers.js";

const tickMs = 1000;

// Returns a sentence about numbers that are `ms` milliseconds old, or "" if they are not stale. `ms` is null until the
// first number arrives.
export function sentenceOfAge(ms, reason, afterMs) {
    if (!reason && (ms === null || ms < afterMs))
        return "";
    const age = ms === null ? "" : `These numbers are ${duration(ms / 1000)} old: `;
    const why = reason || "no answer has arrived since.";

    return age ? `${age}${why}` : `${why[0].toUpperCase()}${why.slice(1)}`;
}

export class Age {
    // `nodes` are the elements that contain the numbers. The view places `note`, the element that contains the
    // sentence, beside the numbers. Numbers are stale after `afterMs` without an answer.
    constructor(page, nodes, { afterMs = 7000 } = {}) {
        Object.assign(this, { page, nodes, afterMs, at: null, reason: "" });
        this.note = element("p", { class: "warn age", hidden: true });
        this.forget = page.visibility.onChange(() => this.tick());
        this.tick();
    }

    // Called for each answer from the daemon. `reason` says why the answer has no numbers, in words that can follow a
    // colon.
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

    // Called once a second while the page is visible.
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
