// SPDX-License-Identifier: Apache-2.0
// Shows the current recording or, once the user has kept a recording as A, both recordings or their difference. An
// off-CPU and an on-CPU recording that were made at the same time are shown one above the other.
import { element, replace, write } from "../element.js";
import { difference } from "../flame/tree.js";
import { summary } from "./notes.js";
import { Panel } from "./panel.js";

// Returns a warning if the parameters of two recordings differ, which makes their difference less meaningful; otherwise
// "".
function differs(before, after) {
    const names = ["event", "cpu", "cgroup", "pid", "frequency", "period", "threshold", "state"];
    const other = names.filter((name) => (before.request[name] ?? "") !== (after.request[name] ?? ""));

    return other.length ? `A and B differ in ${other.join(", ")}.` : "";
}

export class Comparison {
    // onZoom(path) is called when the user zooms in one graph; the others follow.
    constructor(onZoom) {
        const zoomed = (path) => {
            this.zoomTo(path);
            onZoom(path);
        };

        this.panels = ["A", "Recording", "Difference of A and B"].map((title) => new Panel(title, zoomed));
        [this.a, this.b, this.both] = this.panels;
        this.note = element("p", { class: "warn" });
        this.root = element("div", { class: "panels" }, this.note, ...this.panels.map((panel) => panel.root));
        this.kept = null; // recording A
        this.recording = null;
        this.hide();
    }

    // Returns the recording that was made at the same time as the current one, or null.
    get beside() {
        return this.recording?.beside?.header ? this.recording.beside : null;
    }

    // Returns the two recordings to show together, or null.
    get pair() {
        const first = this.beside ?? this.kept;

        return first && this.recording && first !== this.recording ? [first, this.recording] : null;
    }

    hide() {
        const { pair } = this, apart = pair && this.mode !== "difference";

        this.a.root.hidden = !apart;
        this.b.root.hidden = !this.recording || (pair && !apart);
        this.both.root.hidden = !pair || apart;
        this.root.classList.toggle("two", Boolean(apart) && !this.beside);
    }

    // `state`: {by, shape, search, compare}. Returns the tree that is shown and, in a comparison, the tree of recording
    // A.
    draw(state) {
        if (!this.recording)
            return null;
        const { beside, pair } = this, [first] = pair ?? [];
        const tree = this.recording.treeBy(state.by), before = first?.treeBy(state.by) ?? null;

        this.mode = beside ? "side" : state.compare;
        this.hide();
        write(this.a.title, beside ? "On CPU" : "A");
        write(this.b.title, beside ? "Off CPU" : before ? "B" : "Recording");
        write(this.note, this.kept && !beside ? this.remark() : "");
        if (before && this.mode === "difference")
            this.showDifference(before, tree, state);
        else
            this.b.show(summary(this.recording), tree, { ...state, difference: false });
        if (before && this.mode !== "difference")
            this.a.show(summary(first), before, { ...state, difference: false });
        return { tree, before: beside ? null : before };
    }

    showDifference(before, tree, state) {
        const about = `A: ${summary(this.kept)}. B: ${summary(this.recording)}.`;

        this.both.show(about, difference(before, tree), { ...state, difference: true });
    }

    remark() {
        return this.pair ? differs(...this.pair) : "This is recording A. Record again to compare it with B.";
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
