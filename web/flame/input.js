// SPDX-License-Identifier: Apache-2.0
// Mouse, touch and keyboard input of a flame graph. The mouse wheel is left to the browser for scrolling.

function siblings(graph, node) {
    return node.parent ? graph.layout.ordered(node.parent).filter((one) => graph.isSeen(one)) : [node];
}

function beside(graph, node, step) {
    const all = siblings(graph, node);

    return all[all.indexOf(node) + step] ?? node;
}

function widest(graph, node) {
    const all = graph.layout.ordered(node).filter((one) => graph.isSeen(one));

    return all.reduce((a, b) => b.total > a.total ? b : a, all[0] ?? node);
}

// Returns the nearest ancestor of a frame that is wider than the frame itself.
function wider(node) {
    let one = node;

    while (one.parent && one.total <= node.total)
        one = one.parent;
    return one;
}

const inward = (graph) => graph.focus(widest(graph, graph.focused));
const outward = (graph) => graph.focus(graph.focused.parent ?? graph.focused);
const out = (graph) => graph.zoomOut(wider(graph.zoom.node));
const keys = {
    ArrowDown: (graph) => graph.flame ? outward(graph) : inward(graph),
    ArrowUp: (graph) => graph.flame ? inward(graph) : outward(graph),
    ArrowLeft: (graph) => graph.focus(beside(graph, graph.focused, -1)),
    ArrowRight: (graph) => graph.focus(beside(graph, graph.focused, 1)),
    Enter: (graph) => graph.zoomBy(graph.focused),
    " ": (graph) => graph.zoomBy(graph.focused),
    Escape: out,
    Backspace: out,
    Home: (graph) => graph.zoomOut(graph.tree.root),
};

export function listenToKeys(graph) {
    graph.canvas.addEventListener("keydown", (event) => {
        const action = keys[event.key];

        if (!action || !graph.tree || event.ctrlKey || event.altKey || event.metaKey)
            return;
        event.preventDefault();
        action(graph);
    });
    graph.canvas.addEventListener("focus", () => graph.focus(graph.focused));
    graph.canvas.addEventListener("blur", () => graph.request());
}

// A click zooms to a frame. On a touch screen, the first tap on a frame shows its tooltip, and the second tap zooms.
export function listenToPointer(graph) {
    const { canvas } = graph;
    let touched = null; // the frame that was tapped last
    let finger = false;

    canvas.addEventListener("pointerdown", (event) => {
        finger = event.pointerType === "touch";
    });
    canvas.addEventListener("pointermove", (event) => {
        if (event.pointerType !== "touch")
            graph.point(graph.nodeAt(event.offsetX, event.offsetY), event);
    });
    canvas.addEventListener("pointerleave", (event) => {
        if (event.pointerType !== "touch")
            graph.point(null);
    });
    canvas.addEventListener("click", (event) => {
        const node = graph.nodeAt(event.offsetX, event.offsetY);
        const zooms = node !== null && (!finger || touched === node);

        touched = finger ? node : null;
        graph.point(node, event);
        if (zooms) {
            graph.focused = node;
            graph.zoomBy(node);
        }
    });
}
