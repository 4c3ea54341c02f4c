// SPDX-License-Identifier: Apache-2.0
// Files of a recording: what is shown, made here, and the formats of the daemon, which records again for them.
import { element, write } from "../element.js";
import { folded, svg } from "../flame/export.js";
import { duration, timeOf } from "../numbers.js";
import { summary } from "./notes.js";

const keptMs = 60000; // for a browser that asks where to put the file
const graceMs = 30000; // behind the last second of what the daemon records

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

    // What the links ask for; `hindsight`: for how many seconds the daemon keeps samples.
    ask(request, hindsight) {
        Object.assign(this, { request, hindsight });
        this.link();
    }

    // The samples of a chosen interval are asked for again, as long as the daemon has them. Returns the parameters.
    link() {
        const { shown, request } = this, again = shown?.recording.again(this.hindsight);
        const asked = again ?? request;
        const anew = `record again, for ${duration(Number(request.seconds))}, by the choices above`;

        this.pprof.href = this.client.url("debug/pprof/profile", asked);
        this.perf.href = this.client.url("api/v1/perf.data", asked);
        const graph = shown?.recording.beside?.header ? "off CPU" : "above";
        write(this.again, `Folded stacks and SVG are of the graph ${graph}. The links to pprof and perf.data `
            + `${again ? `have all samples since ${timeOf(shown.recording.span.since)}, while the daemon keeps them; then `
                + `they ${anew}` : request.last ? `have the samples of the last ${duration(Number(request.last))}` : anew}.`);
        return asked;
    }

    // Without TLS a browser does not say that it follows a link of this page, as the page's own requests do.
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

    // The view is hidden or left.
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
