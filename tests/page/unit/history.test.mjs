// SPDX-License-Identifier: Apache-2.0
// Values of the last five minutes: gaps, limits, and a clock that runs irregularly.
import assert from "node:assert/strict";
import test from "node:test";
import { History } from "../../../web/history.js";

// Creates a history with a manual clock: after(seconds, {name: value}) advances the clock and adds a moment.
function fixture(options) {
    let now = 1000;
    const history = new History({ clock: () => now * 1000, ...options });

    return { history, wait: (seconds) => (now += seconds), after(seconds, values) {
        now += seconds;
        history.begin();
        for (const [name, value] of Object.entries(values))
            history.add(name, value);
    } };
}

function ys(history, name) {
    return history.points(name).map((point) => Number.isNaN(point.y) ? null : point.y);
}

test("an unknown value is a gap, never zero", () => {
    const { history, after } = fixture();

    after(2, { ipc: 1 });
    after(2, { ipc: null });
    after(2, { ipc: NaN, other: 5 });
    after(2, { ipc: 0 });
    assert.deepEqual(ys(history, "ipc"), [1, null, null, 0]);
    assert.deepEqual(ys(history, "other"), [null, null, 5, null]);
    assert.deepEqual(history.points("ipc").map((point) => point.x), [-6, -4, -2, -0]);
    assert.deepEqual(ys(history, "nothing"), []);
});

test("a pause in recording is a gap", () => {
    const { history, after } = fixture();

    after(2, { ipc: 1 });
    after(5, { ipc: 2 });
    after(60, { ipc: 3 });
    assert.deepEqual(ys(history, "ipc"), [1, 2, null, 3]);
    assert.deepEqual(history.summary("ipc"), { last: 3, lowest: 1, highest: 3, n: 3 });
});

test("values older than five minutes are dropped, however often values are added", () => {
    for (const pace of [0.5, 2, 6]) {
        const { history, after } = fixture();
        for (let i = 0; i < 1000; i++)
            after(pace, { ipc: i });
        const points = history.points("ipc");
        assert.ok(points.length <= history.capacity);
        assert.ok(points.every((point) => point.x >= -300 && point.x <= 0));
        assert.equal(points.at(-1).y, 999);
        if (pace >= 2)
            assert.equal(points.length, Math.floor(300 / pace) + 1);
        assert.ok(points.every((point, i) => i === 0 || point.y === points[i - 1].y + 1));
    }
});

test("a name that appears later or disappears has gaps; after a long absence it is dropped", () => {
    const { history, after } = fixture({ seconds: 10 });

    after(2, { cpu0: 1 });
    after(2, { cpu0: 2, cpu1: 9 });
    assert.deepEqual(ys(history, "cpu1"), [null, 9]);
    for (let i = 0; i < 3 * history.capacity; i++)
        after(2, { cpu0: i });
    assert.deepEqual([...history.values.keys()], ["cpu0"]);
});

test("the number of names is limited", () => {
    const { history, after } = fixture({ seconds: 2 });

    after(2, Object.fromEntries(Array.from({ length: 9000 }, (_, i) => [`name ${i}`, i])));
    assert.equal(history.values.size, 8000);
});

test("the wall clock has no effect", () => {
    const { history, after, wait } = fixture(), clock = Date.now;

    try {
        after(2, { ipc: 1 });
        Date.now = () => 0;
        after(2, { ipc: 2 });
        Date.now = () => 9e15;
        wait(1);
        assert.deepEqual(history.points("ipc"), [{ x: -3, y: 1 }, { x: -1, y: 2 }]);
    } finally {
        Date.now = clock;
    }
});

test("the summary of an empty history is empty", () => {
    const { history, after } = fixture();

    history.add("ipc", 1); // ignored, since there is no moment yet
    after(2, {});
    assert.equal(history.summary("ipc").n, 0);
    after(2, { ipc: -1 });
    after(2, {});
    assert.deepEqual(history.summary("ipc"), { last: NaN, lowest: -1, highest: -1, n: 1 });
});
