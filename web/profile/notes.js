// SPDX-License-Identifier: Apache-2.0
// The sentences about a recording, and the text that is shown before the first recording.
import { element, plain, replace } from "../element.js";
import { amount, digits, duration, timeOf, waited } from "../numbers.js";

const causes = {
    stopped: (seconds) => `You stopped it after ${seconds}.`,
    hidden: (seconds) => `It ended after ${seconds}, when this tab was hidden. Record again to see more.`,
    left: (seconds) => `It ended after ${seconds}, when you went to another view.`,
    late: (seconds) => `The daemon did not end the recording; the page ended it after ${seconds}.`,
};

function of(n, one, many) {
    return `${n.toLocaleString()} ${n === 1 ? one : many}`;
}

function ending(recording) {
    const seconds = duration(recording.elapsed);

    if (recording.cause)
        return causes[recording.cause](seconds);
    if (recording.fault)
        return recording.samples ? `${recording.fault.message} The samples until then, ${seconds}, are kept.` : null;
    if (recording.end && !["seconds", "last"].includes(recording.end.reason))
        return `The daemon ended it after ${seconds}: ${recording.end.reason}.`;
    return null;
}

function counted({ samples, tree }) {
    return tree.isTime ? of(samples, "wait", "waits") : of(samples, "sample", "samples");
}

// Returns the sentence about the progress of a running recording.
export function progress(recording) {
    if (recording.begun === null)
        return "Waiting for the daemon.";
    if (recording.isPast)
        return `${of(recording.samples, "sample", "samples")} that were already taken.`;
    const parts = [recording.isLive ? `${duration(recording.elapsed)}, until you stop it`
                       : `${digits(Math.ceil(recording.left))} s left`,
                   ...[recording, recording.beside].filter(Boolean).map(counted),
                   `${amount(recording.lost)} lost`, `${amount(recording.dropped)} dropped`,
                   `throttled ${of(recording.throttled, "time", "times")}`];

    return `${recording.paused ? "Counting is paused, and sampling with it. " : ""}${parts.join(", ")}.`;
}

function rateOf({ threshold_ns: threshold, period, frequency }) {
    if (threshold)
        return `of ${waited(threshold)} and more`;
    if (period)
        return period === 1 ? "each event" : `every ${period.toLocaleString()} events`;
    return frequency ? `at ${frequency.toLocaleString()} Hz` : "";
}

// Returns a one-line summary of a recording.
export function summary(recording) {
    const { header, tree, request } = recording;
    const parts = [`${recording.event || "samples"} ${rateOf(header ?? {})}`.trim(), duration(recording.elapsed),
                   counted(recording), tree.isTime && `${waited(tree.total)} in total`, request.state,
                   request.cpu && `CPUs ${request.cpu}`, request.cgroup, request.pid && `process ${request.pid}`];

    return parts.filter(Boolean).join(", ");
}

const wordsOf = ({ since, until }) => `${timeOf(since)} to ${timeOf(until)}, ${duration(until - since)}`;
const wholeS = 1; // shorter missing times are not mentioned

// Describes the time range of past samples, and the part of it for which the daemon had samples.
export function covered({ isPast, interval, kept, span, request }) {
    if (!isPast || !kept)
        return "";
    const asked = interval ?? { since: kept.until - Number(request.last), until: kept.until };
    if (!span)
        return `${wordsOf(asked)}: the daemon ${asked.until <= kept.since ? "no longer has" : "does not yet have"} `
            + `these samples, only those of ${wordsOf(kept)}.`;
    return span.since - asked.since < wholeS && asked.until - span.until < wholeS ? `${wordsOf(asked)}: complete.`
        : `${wordsOf(asked)}: the daemon had samples of ${wordsOf(span)}.`;
}

function losses({ lost, dropped, throttled, broken, isPast, tree }) {
    const less = tree.isTime ? "Raise the threshold" : "Lower the frequency";

    return [
        lost && `The kernel lost ${of(lost, "record", "records")}, because its ring buffers were full.`
            + (isPast ? "" : ` ${less} or raise sampler.ring_pages.`),
        dropped && `${of(dropped, "record", "records")} did not reach this browser, which was too slow. `
            + `${less}, or sample less of the machine.`,
        throttled && `The kernel throttled sampling ${of(throttled, "time", "times")}, because it used too much CPU `
            + "time. Lower the frequency.",
        broken && `${of(broken, "line", "lines")} of the answer could not be read and ${broken === 1 ? "is" : "are"} `
            + "left out.",
    ];
}

// Returns notes about waits without a sample, which the daemon only counts.
function leftOut({ header, end, request: { cpu, cgroup, pid } }) {
    const of = (n) => `${n.toLocaleString()}${cpu || cgroup || pid ? " on the whole machine" : " of them"}`;

    return [end?.brief && `Waits shorter than ${waited(header?.threshold_ns)} are left out: ${of(end.brief)}, `
                + `${waited(end.brief_ns)} in total.`,
            end?.missed && `Waits whose stack the kernel could not record are left out: ${of(end.missed)}.`];
}

function awaited({ end, interval, samples }) {
    const n = samples && end?.awaiting_symbols;

    return n && `${of(n, "address has", "addresses have")} no name yet, as the daemon was still reading symbols. `
        + `${interval ? "Load the page" : "Record"} again to see the names.`;
}

// Returns the notes on a finished recording. The daemon's own notes follow, except for the note about addresses without
// a symbol, which the page words itself.
export function notes(recording) {
    const { tree, end, samples, ended } = recording;
    const others = (end?.notes ?? []).filter((note) => !/^addresses without a symbol:/.test(note)).map(sentence);
    const isGone = recording.isPast && !recording.span;
    const none = ended && !samples && !recording.fault && !isGone && (tree.isTime
        ? "No wait ended: no selected task resumed after a wait as long as the threshold."
        : "No samples: nothing that was selected ran, or the event did not occur.");

    return [ending(recording), none, ...losses(recording), ...leftOut(recording), awaited(recording), lumped(tree),
            ...others].filter(Boolean);
}

function lumped({ lumped, total, isTime }) {
    const [some, all] = isTime ? [waited(lumped), waited(total)]
                               : [of(lumped, "sample", "samples"), total.toLocaleString()];

    return lumped > 0 && `${some} of ${all} are in "(other)", as there are more distinct stacks than the page keeps.`;
}

// Returns why a recording failed, and what to do.
export function remedy({ message, status, retryAfter }) {
    if (status === 503)
        return `${sentence(message)} Record again ${retryAfter ? `in ${duration(retryAfter)}` : "later"}.`;
    return sentence(message);
}

function sentence(note) {
    const text = String(note);

    return `${text[0]?.toUpperCase() ?? ""}${text.slice(1)}${/[.!?]$/.test(text) ? "" : "."}`;
}

// --- The text before the first recording: how to start one, or how to enable sampling, with configuration lines to
// copy.

function block(title, text) {
    const copy = () => navigator.clipboard.writeText(text);

    return element("div", { class: "block" }, element("p", { class: "quiet" }, title), element("pre", { class: "scroll",
        tabindex: 0, role: "region", "aria-label": title }, text),
        navigator.clipboard ? element("button", { type: "button", onclick: copy }, "Copy") : null);
}

export class Guide {
    constructor() {
        this.isOff = false;
        this.root = element("section", { class: "card guide", "aria-label": "About recordings" });
        this.file = "/etc/perfcountd/perfcountd.yaml";
        this.show(false);
    }

    // Updates the text from the documents of /api/v1/config and /api/v1/status.
    learn({ sampler, web }, { config_file: file }) {
        this.file = file ?? this.file;
        this.isLocal = Boolean(web?.local_operators);
        this.show(sampler?.enabled === false);
    }

    show(isOff) {
        this.isOff = isOff;
        if (isOff)
            this.root.hidden = false;
        replace(this.root, ...(isOff ? this.offer() : this.explain()));
    }

    explain() {
        return [element("h3", {}, "Record draws a flame graph of what runs"),
                element("p", {}, "While it records, the kernel notes on each CPU, at the chosen rate, the function "
                    + "that runs and its callers. They are drawn as they arrive: the wider a frame, the more samples "
                    + "it is in; below a function are its callees."),
                element("p", { class: "quiet" }, "Nothing is recorded before you press Record. Samples stay in this "
                    + "tab, and a recording ends when the tab is hidden or another view is opened.")];
    }

    offer() {
        const lines = ["sampler: {enabled: true}"];

        if (!this.isLocal)
            lines.push("web: {local_operators: true}    # browsers on this machine may record");
        return [element("h3", {}, "Samples are off on this machine"),
                element("p", {}, "A flame graph is made of samples, which show what the programs of all users do. "
                    + "They are therefore off until somebody enables them."),
                block(`1. Add these lines to ${plain(this.file)}`, `${lines.join("\n")}\n`),
                block("2. Run this command on that machine", "sudo systemctl restart perfcountd\n"),
                element("p", {}, "Without systemd, stop perfcountd and start it again; the flag --sampler.enabled can "
                    + "replace the first line."),
                element("p", { class: "quiet" }, "From another machine, recording requires a password or a certificate "
                    + "in the web configuration: see doc/security.md of perfcountd.")];
    }
}
