// SPDX-License-Identifier: Apache-2.0
// The Profile view: starts recordings from a form, and draws them while samples arrive.
import { element, replace, write } from "../element.js";
import { openerFault } from "../health/findings.js";
import { cpusOf } from "../numbers.js";
import { Poll } from "../poll.js";
import { Comparison } from "./comparison.js";
import { Downloads } from "./downloads.js";
import { gather } from "./picker.js";
import { Form } from "./form.js";
import { Hottest } from "./panel.js";
import { Guide, covered, notes, progress, remedy } from "./notes.js";
import { Recording } from "./recording.js";
import { Toolbar, parametersOf, stateOf } from "./toolbar.js";

const drawMs = 250, drawsShare = 8; // drawing takes at most an eighth of the time
const sayMs = 5000, countingLongestMs = 100;
const rateSeconds = 0.5;

// Converts an answer of /api/v1/rates by PMU to a Map from each event to its rate per second on one CPU. The events
// have the names that sampling uses.
export function ratesOf({ totals = [] }, n) {
    const rates = new Map();

    for (const { events } of totals)
        for (const [name, rate] of Object.entries(events))
            if (typeof rate === "number" && n > 0)
                rates.set(name.replaceAll("_", "-"), (rates.get(name.replaceAll("_", "-")) ?? 0) + rate / n);
    if (rates.has("minor-faults") && !rates.has("page-faults"))
        rates.set("page-faults", rates.get("minor-faults") + (rates.get("major-faults") ?? 0));
    return rates;
}

class ProfileView {
    constructor(root, page) {
        this.page = page;
        this.kept = page.kept.get("profile") ?? { offers: null, before: null, recording: null };
        page.kept.set("profile", this.kept);
        this.running = null;
        this.build(root);
        this.comparison.kept = this.kept.before;
        this.comparison.recording = this.kept.recording;
        this.follow(page.address.parameters);
        this.forget = page.visibility.onChange((visible) => visible || this.stop("hidden"));
        this.poll = new Poll(page, drawMs, (signal) => this.load(signal));
    }

    build(root) {
        this.form = new Form({ record: () => this.record(), recordBoth: () => this.recordBoth(),
                               stop: () => this.running?.stop("stopped"), change: () => this.write() });
        this.toolbar = new Toolbar({ change: (values) => this.change(values), forget: () => this.keep(null),
                                     keep: () => this.keep(this.kept.recording) });
        this.comparison = new Comparison((path) => this.zoomed(path));
        this.hottest = new Hottest((name) => this.choose(name));
        this.downloads = new Downloads(this.page.client);
        this.fault = element("p", { class: "card bad", role: "alert", hidden: true });
        this.bar = element("progress", { max: 1, value: 0, "aria-label": "Progress of the recording", hidden: true });
        this.progress = element("p", { class: "progress" });
        this.notes = element("ul", { class: "notes", "aria-label": "About the recording" });
        this.opener = element("p", { class: "card warn", hidden: true });
        this.guide = new Guide();
        this.result = element("div", { class: "result" }, this.toolbar.root, this.comparison.root, this.hottest.root,
                              this.downloads.root);
        this.form.root.append(this.bar, this.progress);
        replace(root, element("h2", { class: "unseen" }, "Profile"), this.opener, this.form.root, this.fault, this.notes,
                this.guide.root, this.result);
    }

    // Loads the lists of what this machine offers, but only once. After a failure, the Poll tries again.
    async load(signal) {
        const { client } = this.page;
        const optional = (path) => client.json(path, { signal }).catch((error) => {
            if (signal.aborted || error.status !== 403)
                throw error;
            return {};
        });
        const [list, cgroups, config, status, rates] = await Promise.all([
            this.kept.offers ?? client.json("api/v1/events", { signal }), optional("api/v1/cgroups"),
            optional("api/v1/config"), this.page.edition.status(signal), this.askRates(signal)]);

        this.kept.offers = list;
        this.form.offer(gather(list, config.sampler?.tracepoints), cgroups.cgroups ?? [], config.sampler,
                        ratesOf(rates, cpusOf(status.machine.cpus_online).length));
        this.ask();
        this.guide.learn(config, status);
        this.opener.hidden = !openerFault(status);
        write(this.opener, openerFault(status) && `Nothing can be recorded. ${openerFault(status)}`);
        this.page.fault(null);
        this.poll.close();
    }

    // Rates are needed only to propose a sample period, so an error is ignored.
    askRates(signal) {
        const parameters = { collector: "cpu", totals: "pmu", seconds: rateSeconds, limit: 1 };

        return this.page.client.json("api/v1/rates", { signal, parameters }).catch((error) => {
            if (signal.aborted)
                throw error;
            return {};
        });
    }

    // --- the state and the URL

    follow(parameters) {
        this.form.fill(parameters);
        this.state = stateOf(parameters);
        this.toolbar.fill(this.state);
        this.ask();
        this.comparison.zoomTo(this.state.zoom);
        this.draw();
        this.report();
        this.lookBack();
    }

    ask() {
        this.downloads.ask(this.form.request(), this.form.hindsight);
    }

    write() {
        this.ask();
        this.page.address.write({ ...this.form.values(), ...parametersOf(this.state) });
    }

    change(values) {
        Object.assign(this.state, values);
        this.write();
        this.draw();
    }

    zoomed(path) {
        this.state.zoom = path;
        this.write();
    }

    // Selecting a row searches for its function; selecting it again clears the search.
    choose(name) {
        this.change({ search: this.state.search === name ? "" : name });
        this.toolbar.fill(this.state);
    }

    keep(recording) {
        this.kept.before = this.comparison.kept = recording;
        this.draw();
        this.page.say(recording ? "Kept as A. The next recording is B." : "A is forgotten.");
    }

    // --- recording

    record() {
        this.state.interval = null;
        this.start(new Recording(this.page.client, this.form.request(), { isLive: this.form.isLive }));
    }

    recordBoth() {
        const { client } = this.page, { isLive } = this.form;
        const [beside, request] = this.form.requests();

        this.state.interval = null;
        this.start(new Recording(client, request, { isLive, beside: new Recording(client, beside, { isLive }) }));
    }

    // If the URL contains an interval, the samples of this interval are requested immediately, since the daemon may
    // soon drop them. These samples are requested only once.
    lookBack() {
        const { interval } = this.state;
        const recording = interval && new Recording(this.page.client, this.form.values(), { interval });

        if (interval && recording.subject !== this.kept.recording?.subject)
            this.start(recording);
    }

    async start(recording) {
        if (this.running)
            return;
        this.running = recording;
        this.countingMs = 0;
        this.form.acquit();
        this.accuse(null);
        this.write();
        this.form.setRecording(true);
        this.said = performance.now();
        this.page.say("Recording.");
        const end = recording.run();
        this.tick(recording);
        await end;
        this.finish(recording);
    }

    tick(recording) {
        if (recording.ended)
            return;
        const begin = performance.now();

        this.show(recording);
        this.complain(recording);
        this.report();
        if (begin - this.said > sayMs) {
            this.said = begin;
            this.page.say(progress(recording));
        }
        const took = performance.now() - begin;
        this.timer = setTimeout(() => this.tick(recording), Math.max(drawMs, took * drawsShare));
    }

    // A new recording replaces the old one when its first line arrives.
    show({ shown, ended }) {
        const samples = shown.samples + (shown.beside?.samples ?? 0);

        if (shown.header === null)
            return;
        this.kept.recording = this.comparison.recording = shown;
        if (samples !== this.drawn || ended)
            this.draw();
        this.drawn = samples;
    }

    complain({ refusal, beside }) {
        const fault = refusal ?? beside?.refusal ?? null;

        if (fault !== this.accused)
            this.accuse(fault);
    }

    finish(recording) {
        clearTimeout(this.timer);
        this.running = null;
        if (this.closed) {
            this.kept.recording = recording.shown.header ? recording.shown : this.kept.recording;
            return;
        }
        this.form.setRecording(false);
        this.show(recording);
        this.complain(recording);
        this.report();
        if (recording.shown.header)
            this.page.say([covered(recording) || "The recording has ended.", ...this.sentences].join(" "));
    }

    // Shows an error beside the control that caused it, or below the form.
    accuse(fault) {
        this.accused = fault;
        const said = fault?.reason || fault?.message;
        const asked = fault && (fault.status === 400 || fault.status === 404 || /^event:/.test(said));
        const isOff = fault?.status === 403 && /not enabled/.test(fault.reason);
        const general = fault && !isOff && !(asked && this.form.accuse(said)) ? remedy(fault) : "";

        if (isOff)
            this.guide.show(true);
        write(this.fault, general);
        this.fault.hidden = !general;
    }

    // --- display

    draw() {
        const shown = this.comparison.draw(this.state), { recording } = this.comparison;

        this.result.hidden = !recording;
        this.guide.root.hidden = Boolean(recording) && !this.guide.isOff;
        this.toolbar.offer({ recording: Boolean(recording?.samples && recording.ended),
                             kept: this.kept.before !== null && !this.comparison.beside,
                             past: recording ? covered(recording) : "" });
        this.downloads.show(shown && { recording, tree: shown.tree, shape: this.state.shape });
        if (shown && !(this.running && this.countingMs > countingLongestMs))
            this.count(shown);
    }

    // Computes the table of functions. If the tree is too large for computing the table several times a second, the
    // table is computed only after the recording has ended.
    count({ tree, before }) {
        const begin = performance.now();

        this.hottest.show(tree, before);
        this.countingMs = performance.now() - begin;
    }

    report() {
        const recording = this.running ?? this.kept.recording;
        const all = recording?.ended ? [recording, recording.beside].filter(Boolean) : [];
        const sentences = [...new Set(all.flatMap(notes))];

        this.bar.hidden = !this.running || this.running.isPast;
        this.bar.value = this.running ? Math.min(1, recording.elapsed / recording.seconds || 0) : 0;
        write(this.progress, this.running ? progress(recording) : "");
        if (sentences.join() !== this.sentences?.join()) {
            this.sentences = sentences;
            replace(this.notes, ...sentences.map((sentence) => element("li", {}, sentence)));
        }
    }

    stop(cause) {
        this.running?.stop(cause);
        this.downloads.stop();
    }

    close() {
        this.closed = true;
        this.stop("left");
        clearTimeout(this.timer);
        this.forget();
        this.poll.close();
        this.toolbar.close();
        this.comparison.close();
    }
}

export function open(root, page) {
    return new ProfileView(root, page);
}
