// SPDX-License-Identifier: Apache-2.0
// Tests when the page sends requests, waits and reports errors, using a clock that the test controls.
import assert from "node:assert/strict";
import { afterEach, beforeEach, mock, test } from "node:test";
import { Fault } from "../../../web/client.js";
import { Faults } from "../../../web/faults.js";
import { Poll, Visibility } from "../../../web/poll.js";

const real = { setTimeout, clearTimeout };
let now, timers, document, window, page;

const settle = async () => {
    for (let i = 0; i < 20; i++)
        await null;
};

// Advances the clock from timer to timer, so that promises settle in between.
async function pass(ms) {
    const end = now + ms;

    for (;;) {
        const next = [...timers].filter((timer) => timer.at <= end).sort((a, b) => a.at - b.at)[0];

        now = Math.max(now, next?.at ?? end);
        if (!next)
            return;
        timers.delete(next);
        next.call();
        await settle();
    }
}

function fakeTimers() {
    timers = new Set();
    globalThis.setTimeout = (call, ms) => {
        const timer = { call, at: now + Math.max(ms, 0) };

        timers.add(timer);
        return timer;
    };
    globalThis.clearTimeout = (timer) => timers.delete(timer);
}

class FakeDocument extends EventTarget {
    visibilityState = "visible";

    become(state) {
        this.visibilityState = state;
        this.dispatchEvent(new Event("visibilitychange"));
    }
}

beforeEach(() => {
    now = 1000;
    fakeTimers();
    mock.method(performance, "now", () => now);
    document = new FakeDocument();
    window = new EventTarget();
    page = {
        visibility: new Visibility(document, window),
        said: [],
        over: [],
        fault(sentence, source, action) {
            if (sentence !== null || this.said.length > 0)
                this.said.push(sentence === null ? null : [sentence, action].filter(Boolean).join(" / "));
        },
        recovered(fault) {
            this.over.push(fault.status);
        },
    };
});
afterEach(() => {
    Object.assign(globalThis, real);
    mock.restoreAll();
});

// Creates a poll that receives the listed answers, the last one repeatedly. `times` are the times of its requests.
function polls(...answers) {
    const times = [];
    const poll = new Poll(page, 2000, async () => {
        times.push(now - 1000);
        const answer = answers[Math.min(times.length, answers.length) - 1];
        if (answer instanceof Error)
            throw answer;
    });
    return { poll, times };
}

test("a poll sends one request per interval, measured from the start of each request", async () => {
    const { poll, times } = polls(1);
    await settle();
    await pass(6100);
    poll.close();
    await pass(5000);
    assert.deepEqual(times, [0, 2000, 4000, 6000]);
    assert.deepEqual(page.said, []);
});

test("a daemon that stops is polled less and less often, and reported once", async () => {
    const gone = new Fault("The daemon cannot be reached.");
    const { poll, times } = polls(1, gone, gone, gone, gone, gone, gone, gone, 1);
    await settle();
    await pass(66000);
    assert.deepEqual(times.slice(0, 9), [0, 2000, 3000, 5000, 9000, 17000, 32000, 47000, 62000]);
    assert.deepEqual([...new Set(page.said.slice(0, 7))], ["The daemon cannot be reached. The page keeps trying."]);
    assert.equal(page.said[7], null);
    assert.deepEqual(page.over, [0]);
    assert.equal(times[9], 64000, "then the usual interval applies again");
    poll.close();
});

test("a poll waits as long as the daemon demands", async () => {
    const { poll, times } = polls(new Fault("Busy.", { status: 503, retryAfter: 30 }), 1);
    await settle();
    await pass(33000);
    assert.deepEqual(times, [0, 30000, 32000]);
    assert.equal(page.said[0], "Busy. The page asks again in 30 s.");
    poll.close();
});

test("a poll does not ask for a password repeatedly", async () => {
    const { poll, times } = polls(new Fault("A password.", { status: 401 }));
    await settle();
    await pass(600000);
    assert.deepEqual(times, [0]);
    assert.deepEqual(page.said, ["A password. Load the page again to enter it. / load"]);
    poll.close();
});

test("an exception in the page does not end polling", async () => {
    mock.method(console, "error", () => {});
    const { poll, times } = polls(new TypeError("x is not a function"), 1);
    await settle();
    await pass(15500);
    assert.deepEqual(times, [0, 15000]);
    assert.equal(page.said[0], "This page has a bug: x is not a function. It keeps running.");
    assert.equal(console.error.mock.callCount(), 1);
    poll.close();
});

test("while the page is hidden or kept for the Back button, a poll sends nothing and aborts its request", async () => {
    let signal = null;
    let asked = 0;
    const poll = new Poll(page, 2000, (given) => {
        asked++;
        signal = given;
        return new Promise((resolve, reject) => given.addEventListener("abort", () => reject(given.reason)));
    });
    await settle();
    for (const [leave, come] of [[() => document.become("hidden"), () => document.become("visible")],
        [() => window.dispatchEvent(new Event("pagehide")), () => window.dispatchEvent(new Event("pageshow"))]]) {
        const before = asked;
        leave();
        await pass(100000);
        assert.equal(signal.aborted, true);
        assert.equal(asked, before);
        come();
        await settle();
        assert.equal(asked, before + 1);
    }
    poll.close();
    assert.equal(signal.aborted, true);
    assert.deepEqual(page.said, []);
});

test("after an error, a poll tries again as soon as the network is restored", async () => {
    globalThis.addEventListener ??= EventTarget.prototype.addEventListener.bind(window);
    globalThis.removeEventListener ??= EventTarget.prototype.removeEventListener.bind(window);
    const gone = new Fault("Gone.");
    const { poll, times } = polls(gone, gone, gone, gone, 1);
    await settle();
    await pass(10000);
    assert.deepEqual(times, [0, 1000, 3000, 7000]);
    window.dispatchEvent(new Event("online"));
    await settle();
    assert.deepEqual(times.slice(4), [10000]);
    window.dispatchEvent(new Event("online"));
    await settle();
    assert.equal(times.length, 5, "without an error, a restored network causes no request");
    poll.close();
    delete globalThis.addEventListener;
    delete globalThis.removeEventListener;
});

test("a poll does not accumulate listeners on its signal", async () => {
    let signal, added = 0;
    const poll = new Poll(page, 2000, async (given) => {
        if (signal)
            return;
        signal = given;
        for (const [name, by] of [["addEventListener", 1], ["removeEventListener", -1]]) {
            const real = given[name];
            given[name] = (...all) => {
                added += by;
                return real.apply(given, all);
            };
        }
    });
    await settle();
    await pass(100000);
    assert.ok(signal && added <= 1, `${added} listeners`);
    poll.close();
});

// --- the error line

function faultLine() {
    const text = { textContent: "", writes: 0 };
    const node = { hidden: true, querySelector: () => new Proxy(text, {
        set(target, name, value) {
            target.writes++;
            target[name] = value;
            return true;
        } }) };
    const button = { hidden: true };
    return { faults: new Faults(node, button), node, text, button };
}

test("requests that fail and recover at different times do not make the error line flicker", async () => {
    const { faults, node, text } = faultLine();
    faults.set("Gone.", "a", null);
    for (let i = 0; i < 20; i++) {
        faults.set(null, "b", null);
        faults.set(i % 2 ? "Gone." : null, "a", null);
        await pass(1000);
        assert.equal(node.hidden, false);
    }
    assert.equal(text.writes, 1);
    faults.set("Busy.", "b", "load");
    assert.equal(text.textContent, "Gone. Busy.");
    faults.set(null, "a", null);
    faults.set("Gone.", "c", null);
    await pass(3100);
    assert.equal(text.textContent, "Busy. Gone.");
});

test("an error that is over stays long enough to be read, and no longer", async () => {
    const { faults, node, button } = faultLine();
    faults.set("Gone.", "a", "load");
    assert.deepEqual([node.hidden, button.hidden], [false, false]);
    await pass(500);
    faults.set(null, "a", null);
    await pass(2400);
    assert.equal(node.hidden, false);
    await pass(200);
    assert.deepEqual([node.hidden, button.hidden], [true, true]);
});
