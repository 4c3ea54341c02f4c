// SPDX-License-Identifier: Apache-2.0
// Explains the colours of a flame graph.
import { element, replace } from "../element.js";
import { points } from "./painter.js";

function entry(kind, text) {
    return element("span", {}, element("i", { class: `flame-${kind}` }), text);
}

// `change` is the strongest difference, or 0 where the colours are of kinds; `searches`: whether frames are matched.
export function legend(box, change, searches) {
    const entries = change
        ? [entry("less", `${points(-change)}: less than before`), entry("same", "the same"),
           entry("more", `${points(change)}: more than before`)]
        : [entry("user", "user"), entry("kernel", "kernel (underlined)"), entry("neutral", "process")];

    if (searches && !change)
        entries.push(entry("match", "found"));
    replace(box, ...entries);
}
