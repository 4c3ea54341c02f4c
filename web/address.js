// SPDX-License-Identifier: Apache-2.0
// The state of the page in its URL, so that a link to a view can be sent: "#services?sort=ipc&filter=ssh". It is behind
// the #, which no browser sends to a server.

export class Address {
    // `names` are the views; the first is shown where the URL names none of them.
    constructor(window, names) {
        this.window = window;
        this.names = names;
        this.read();
    }

    read() {
        const [view, query] = this.window.location.hash.replace(/^#/, "").split(/\?(.*)/s);

        this.view = this.names.includes(view) ? view : this.names[0];
        this.parameters = new URLSearchParams(this.names.includes(view) ? query : "");
    }

    // The link to a view. Values that are "", null or undefined are left out.
    of(view, values = {}) {
        const given = (value) => value !== "" && value !== null && value !== undefined;
        const kept = Object.entries(values).filter(([, value]) => given(value));
        const query = new URLSearchParams(kept.map(([name, value]) => [name, String(value)])).toString();

        return query ? `#${view}?${query}` : `#${view}`;
    }

    // Writes the state of the view that is shown. As a step that the browser's Back leads back from with `step`.
    write(values, { step = false } = {}) {
        const url = this.of(this.view, values);

        if (url === this.of(this.view, Object.fromEntries(this.parameters)))
            return;
        this.window.history[step ? "pushState" : "replaceState"](null, "", url);
        this.read();
    }

    // Calls back when the reader follows a link, edits the URL, or goes back.
    onChange(callback) {
        this.window.addEventListener("hashchange", () => this.changed(callback));
        this.window.addEventListener("popstate", () => this.changed(callback));
    }

    changed(callback) {
        this.read();
        callback();
    }
}
