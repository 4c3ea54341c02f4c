// SPDX-License-Identifier: Apache-2.0
// The recording that is shown, and, once one was kept as A, both of them or their difference.
import { element, replace, write } from "../element.js";
import { difference } from "../flame/difference.js";
import { Panel } from "./panel.js";

// What of two recordings makes their difference mean less.
function differs(before, after) {
    const names = ["event", "cpu", "cgroup", "pid", "frequency", "period"];
    const other = names.filter((name) => (before.request[name] ?? "") !== (after.request[name] ?? ""));

    return other.length ? `A and B were asked for with another ${other.join(", ")}.` : "";
}

export class Comparison {
    // onZoom(path): the reader has zoomed one graph; the others follow.
    constructor(onZoom) {
        const follow = (panel) => (path) => {
            for (const other of this.panels)
                if (other !== panel && !other.root.hidden)
                    other.zoomTo(path);
            onZoom(path);
        };

        this.panels = [];
        for (const title of ["A", "Recording", "Difference of A and B"]) {
            const panel = new Panel(title, (path) => follow(panel)(path));
            this.panels.push(panel);
        }
        [this.a, this.b, this.both] = this.panels;
        this.note = element("p", { class: "warn" });
        this.root = element("div", { class: "panels" }, this.note, ...this.panels.map((panel) => panel.root));
        this.kept = null; // recording A
        this.recording = null;
        this.trees = new WeakMap(); // recording: {total, tree} without processes
        this.hide();
    }

    // The tree of a recording as it is to be shown.
    tree(recording, by) {
        if (by !== "merged")
            return recording.tree;
        const made = this.trees.get(recording);
        if (made?.total === recording.tree.total)
            return made.tree;
        const tree = recording.tree.merged();
        this.trees.set(recording, { total: recording.tree.total, tree });
        return tree;
    }

    // What is compared, or null.
    get pair() {
        return this.kept && this.recording && this.kept !== this.recording ? [this.kept, this.recording] : null;
    }

    hide() {
        const { pair } = this, apart = pair && this.mode !== "difference";

        this.a.root.hidden = !apart;
        this.b.root.hidden = !this.recording || (pair && !apart);
        this.both.root.hidden = !pair || apart;
        this.root.classList.toggle("two", Boolean(apart));
    }

    // `state`: {by, shape, search, compare}. Returns the tree that is shown, and that of A if there is one.
    draw(state) {
        if (!this.recording)
            return null;
        const tree = this.tree(this.recording, state.by), { pair } = this;
        this.mode = state.compare;
        this.hide();
        write(this.b.title, pair ? "B" : "Recording");
        write(this.note, pair ? differs(...pair) : "");
        if (!pair) {
            this.b.show(this.recording, tree, { ...state, difference: false });
            return { tree, before: null };
        }
        const before = this.tree(this.kept, state.by);
        if (this.mode === "difference") {
            this.both.show(this.recording, difference(before, tree), { ...state, difference: true });
        } else {
            this.a.show(this.kept, before, { ...state, difference: false });
            this.b.show(this.recording, tree, { ...state, difference: false });
        }
        return { tree, before };
    }

    zoomTo(path) {
        for (const panel of this.panels)
            panel.zoomTo(path);
    }

    close() {
        for (const panel of this.panels)
            panel.close();
        replace(this.root);
    }
}
