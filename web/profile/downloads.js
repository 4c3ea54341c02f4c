// SPDX-License-Identifier: Apache-2.0
// Downloads of a recording. The browser itself saves the graph as shown. For the formats that the daemon writes, it
// records again or, for a past interval, sends the samples again.
import { element, write } from "../element.js";
import { folded, svg } from "../flame/export.js";
import { duration, timeOf } from "../numbers.js";
import { summary } from "./notes.js";

const keptMs = 60000; // an object URL is kept this long, since the browser may first ask where to save the file
const graceMs = 30000; // how long the answer may take to arrive after the recording has ended

function save(name, blob) {
    const url = URL.createObjectURL(blob);
    const link = element("a", { href: url, download: name });

    document.body.append(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(url), keptMs);
}

export class Downloads {
    constructor(client) {
        this.client = client;
        this.shown = null; // {recording, tree, shape}
        this.request = {};
        const button = (title, make) => element("button", { type: "button", disabled: true, onclick: make }, title);
        this.folded = button("Folded stacks", () => this.save("folded", "text/plain"));
        this.svg = button("SVG", () => this.save("svg", "image/svg+xml"));
        const link = (title, name, path) =>
            element("a", { download: name, onclick: (event) => this.follow(event, name, path) }, title);
        this.pprof = link("pprof", "profile.pb.gz", "debug/pprof/profile");
        this.perf = link("perf.data", "perf.data", "api/v1/perf.data");
        this.again = element("p", { class: "quiet", id: "profile-again" });
        for (const link of [this.pprof, this.perf])
            link.setAttribute("aria-describedby", "profile-again");
        this.root = element("section", { class: "card", "aria-label": "Downloads" }, element("h3", {}, "Downloads"),
                            element("p", { class: "pair" }, this.folded, this.svg, this.pprof, this.perf), this.again);
    }

    show(shown) {
        const isOther = shown?.recording !== this.shown?.recording;

        this.shown = shown;
        this.folded.disabled = this.svg.disabled = !shown?.tree.total;
        if (isOther)
            this.link();
    }

    // Sets the parameters of the links. `hindsight` is how long the daemon keeps samples, in seconds.
    ask(request, hindsight) {
        Object.assign(this, { request, hindsight });
        this.link();
    }

    // Updates the links and returns their parameters. For a selected interval, the same samples are requested again
    // while the daemon still has them.
    link() {
        const { shown, request } = this, again = shown?.recording.again(this.hindsight);
        const asked = again ?? request;
        const anew = `record again, for ${duration(Number(request.seconds))}, with the settings above`;

        this.pprof.href = this.client.url("debug/pprof/profile", asked);
        this.perf.href = this.client.url("api/v1/perf.data", asked);
        const graph = shown?.recording.beside?.header ? "the off-CPU graph" : "the graph above";
        write(this.again, `Folded stacks and SVG contain ${graph}. The links to pprof and perf.data `
            + `${again ? `have all samples since ${timeOf(shown.recording.span.since)}, while the daemon keeps them; then `
                + `they ${anew}` : request.last ? `have the samples of the last ${duration(Number(request.last))}` : anew}.`);
        return asked;
    }

    // Over plain HTTP, except from localhost, browsers send no Sec-Fetch headers, so the daemon cannot tell that a link
    // is on its own page. A script then fetches the file, with the header that the client sets.
    async follow(event, name, path) {
        const request = this.link(), seconds = Number(request.seconds) || 0;

        if (window.isSecureContext)
            return;
        event.preventDefault();
        this.stop();
        this.controller = new AbortController();
        const { signal } = this.controller;
        write(this.again, request.last ? `Waiting for ${name}.` : `Recording ${name} for ${duration(seconds)}.`);
        try {
            const response = await this.client.ask("GET", path, {
                parameters: request, signal, patience: seconds * 1000 + graceMs });
            save(name, await response.blob());
            write(this.again, `${name} is recorded.`);
        } catch (error) {
            write(this.again, `${name} is not recorded. ${signal.aborted ? "" : error.message}`.trim());
        }
    }

    // Aborts a download. Called when the page is hidden or the view is closed.
    stop() {
        this.controller?.abort();
    }

    save(ending, type) {
        const { recording, tree, shape } = this.shown;
        const name = `perfcountd-${recording.header?.hostname ?? ""}-${recording.event}`.replace(/[^\w.-]+/g, "_");
        const text = ending === "svg" ? svg(tree, { icicle: shape === "icicle", title: summary(recording) })
                                      : folded(tree);

        save(`${name}.${ending}`, new Blob([text], { type }));
    }
}
