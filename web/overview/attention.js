// SPDX-License-Identifier: Apache-2.0
// The card "Needs attention": the findings of the daemon, each with links to its evidence. If the daemon does not serve
// /api/v1/findings, the card shows what could not be counted.
import { element, plain, replace, write } from "../element.js";
import { findings } from "../health/findings.js";
import { clockOf, cpusOf } from "../numbers.js";

const aroundS = 300; // the link of a finding also shows this many seconds before and after it
const hourS = 3600, leastS = 60; // compared intervals lie in the last hour and last at least a minute
const mostShown = 6;
const missingPmu = (failure) => failure.reason === "no_pmu" || /offers no hardware PMU/.test(failure.message);

// Rules whose findings are about something that is not counted. Findings of all other rules are about what the machine
// does.
const uncounted = new Set(["multiplexed", "missing", "failed"]);

// Converts the document of /api/v1/findings to [{level, title, text, evidence, cgroup, cpus, since, until}].
export function itemsOf({ findings = [] }) {
    return findings.map((one) => ({ ...one, level: uncounted.has(one.rule) ? "quiet" : "warn",
        title: String(one.title), text: String(one.text ?? "") }));
}

// Converts the faults in /api/v1/status to the same form as findings. A missing PMU is left out, since the header shows
// it already.
export function faultsOf(status) {
    const failures = status.failures.filter((one) => !missingPmu(one));

    const found = findings({ ...status, failures }).filter(({ level }) => level !== "note");

    return found.map(({ level, title, sentence, places }) => ({
        level: level === "bad" ? "bad" : "quiet", title, text: [sentence, places.length > 2
            ? `${places[0]} and ${places.length - 1} more` : places.join("; ")].filter(Boolean).join(" "),
        health: true }));
}

// Returns a link relative to this page, or null. Only documents of the daemon are accepted as evidence.
export function evidenceOf(path) {
    return typeof path === "string" && /^\/api\/v1\/[\w?&=.,:%*+/-]*$/.test(path) && !path.includes("..")
        ? path.slice(1) : null;
}

// Rules whose findings are about a change, which can be compared with the time before.
const changing = new Set(["service_changed", "clock_limited", "starved"]);

// Returns the interval of a finding and an equally long interval before it, shortened so that it begins at most an hour
// ago. Returns null if either interval is too short.
export function comparisonOf({ rule, since, until }, now) {
    const end = until ?? now, first = Math.max(since - (end - since), now - hourS);

    return changing.has(rule) && Number.isFinite(since) && end - since >= leastS && since - first >= leastS
        ? [{ since, until: end }, { since: first, until: since }] : null;
}

function when({ since, until }) {
    if (!Number.isFinite(since))
        return "";
    return Number.isFinite(until) ? `${clockOf(since)} to ${clockOf(until)}: ` : `since ${clockOf(since)}: `;
}

export class Attention {
    // `links`: functions that return URLs, {profile({cgroup, cpu, event}), interval(selected, base or null), health()}.
    constructor(links) {
        this.links = links;
        this.list = element("ul");
        this.note = element("p", { class: "quiet" });
        this.root = element("section", { class: "card attention", "aria-label": "Needs attention" },
                            element("h2", {}, "Needs attention"), this.note, this.list);
    }

    show(items, now) {
        const key = JSON.stringify(items);

        if (key === this.key)
            return;
        this.key = key;
        write(this.note, items.length === 0 ? "Nothing: everything configured is counted, and nothing stands out." :
            items.length > mostShown ? `${items.length} findings; the first ${mostShown}:` : "");
        this.note.hidden = this.note.textContent === "";
        this.note.className = items.length === 0 ? "good" : "quiet";
        replace(this.list, items.slice(0, mostShown).map((item) => this.item(item, now)));
    }

    item(item, now) {
        const { links } = this, evidence = evidenceOf(item.evidence);
        const [cpu] = item.cpus && !item.cgroup ? cpusOf(String(item.cpus)) : [];
        const compared = comparisonOf(item, now);
        const made = [
            (item.cgroup || cpu >= 0) && ["Flame graph", links.profile({ cgroup: item.cgroup, cpu })],
            Number.isFinite(item.since) && ["Show", links.interval({ since: item.since - aroundS,
                                                                     until: (item.until ?? now) + aroundS })],
            compared && ["Compare", links.interval(...compared)],
            evidence && ["Evidence", evidence],
            item.health && ["Why?", links.health()],
        ].filter(Boolean).map(([text, href], i) => [i ? " · " : "", element("a", { href, "aria-label":
            `${text}: ${plain(item.title)}` }, text)]);

        const row = element("span", { class: `links${made.length > 1 ? " several" : ""}` }, made.flat());

        return element("li", { class: `finding ${item.level}` }, element("h3", {}, plain(item.title)),
                       element("p", {}, when(item), plain(item.text), " ", row));
    }
}
