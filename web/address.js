// SPDX-License-Identifier: Apache-2.0
// Keeps the state of the page in its URL, so that links to a view can be shared: "#services?sort=ipc&filter=ssh". The
// state is in the fragment, which browsers never send to a server.

export class Address {
    // `names` lists the names of the views. The first view is the default.
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

    // Returns the link to a view. Parameters whose value is "", null or undefined are omitted.
    of(view, values = {}) {
        const given = (value) => value !== "" && value !== null && value !== undefined;
        const kept = Object.entries(values).filter(([, value]) => given(value));
        const query = new URLSearchParams(kept.map(([name, value]) => [name, String(value)])).toString();

        return query ? `#${view}?${query}` : `#${view}`;
    }

    // Writes the state of the current view to the URL. With `step`, the new state becomes an entry in the browser's
    // history, so that Back returns to the previous state.
    write(values, { step = false } = {}) {
        const url = this.of(this.view, values);

        if (url === this.of(this.view, Object.fromEntries(this.parameters)))
            return;
        this.window.history[step ? "pushState" : "replaceState"](null, "", url);
        this.read();
    }

    // `callback` is called when the user follows a link, edits the URL, or goes back.
    onChange(callback) {
        this.window.addEventListener("hashchange", () => this.changed(callback));
        this.window.addEventListener("popstate", () => this.changed(callback));
    }

    changed(callback) {
        this.read();
        callback();
    }
}
