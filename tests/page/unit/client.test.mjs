// SPDX-License-Identifier: Apache-2.0
// The HTTP client, tested against a server that answers correctly and incorrectly.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import test, { after, before } from "node:test";
import { Client, Fault } from "../../../web/client.js";

let server, client;
let answer = null; // handler of the current test: (request, response)

before(async () => {
    server = createServer((request, response) => answer(request, response));
    await new Promise((done) => server.listen(0, "127.0.0.1", done));
    client = new Client(`http://127.0.0.1:${server.address().port}/below/a/prefix/`);
});
after(() => {
    server.closeAllConnections();
    server.close();
});

const sends = (status, headers, body) => (request, response) => {
    response.writeHead(status, headers);
    response.end(body);
};
const json = { "Content-Type": "application/json" };
const html = { "Content-Type": "text/html" };
const text = { "Content-Type": "text/plain; charset=utf-8" };

async function faultOf(promise) {
    try {
        await promise;
    } catch (error) {
        assert.ok(error instanceof Fault, String(error));
        return error;
    }
    return assert.fail("the request did not fail");
}

const faults = [
    [400, json, '{"error": "parameter \\"seconds\\": wrong", "status": 400}', {},
        'The daemon refuses this: parameter "seconds": wrong.'],
    [400, text, "perfcountd.yaml:3:5: unknown key\n", {}, "The daemon refuses this: perfcountd.yaml:3:5: unknown key."],
    [401, text, "this needs a name and a password, as in curl -u NAME\n", {},
        "The daemon requires a password, or a different one."],
    [403, json, '{"error": "only operators may do this.", "status": 403}', {},
        "The daemon does not allow this: only operators may do this."],
    [404, html, "<h1>no</h1>", {}, "The daemon answers with status 404."],
    [429, text, "more requests than rate_limit", { "Retry-After": "7" },
        "The daemon accepts no more requests for now: more requests than rate_limit."],
    [502, html, "<html><h1>502 Bad Gateway</h1>", {}, "The proxy in front of the daemon cannot reach it."],
    [503, json, '{"error": "too many streams"}', { "Retry-After": "100000" }, "The daemon is busy: too many streams."],
    [503, json, "no JSON", { "Retry-After": "Thu, 01 Jan 1970 00:00:00 GMT" }, "The daemon is busy: no JSON."],
    [504, html, "", { "Retry-After": "-1" }, "The proxy in front of the daemon gets no answer from it."],
];

test("each HTTP error becomes a sentence, with the time to wait before a retry", async () => {
    for (const [status, headers, body, more, sentence] of faults) {
        answer = sends(status, { ...headers, ...more }, body);
        const fault = await faultOf(new Client(client.base).json("api/v1/status"));
        assert.deepEqual([fault.status, fault.message], [status, sentence]);
        assert.equal(fault.retryAfter, { 7: 7, 100000: 600 }[more["Retry-After"]] ?? null);
    }
});

test("after a 401 no more requests are sent, since they would lack the password", async () => {
    const own = new Client(client.base);
    let asked = 0;

    answer = (request, response) => {
        asked++;
        sends(401, text, "wrong")(request, response);
    };
    const fault = await faultOf(own.json("api/v1/status"));
    for (const request of [own.json("api/v1/rates"), own.ask("GET", "api/v1/samples"), own.text("metrics")])
        assert.equal(await faultOf(request), fault);
    assert.equal(asked, 1);
});

test("requests are relative to the page's URL and carry the header X-Requested-With", async () => {
    answer = (request, response) => sends(200, json, JSON.stringify(
        [request.method, request.url, request.headers["x-requested-with"]]))(request, response);
    const parameters = { a: ["1&", 2], b: "", c: null, d: 0 };
    assert.deepEqual(await client.json("api/v1/pause", { method: "POST", parameters }),
        ["POST", "/below/a/prefix/api/v1/pause?a=1%26&a=2&d=0", "perfcountd"]);
});

test("an answer that breaks off, is late or does not come from perfcountd gives an error sentence", async () => {
    answer = (request, response) => {
        response.writeHead(200, { ...json, "Content-Length": "100" });
        response.write('{"a": ', () => response.destroy());
    };
    assert.equal((await faultOf(client.json("x"))).message, "The daemon's answer was cut off.");
    answer = (request, response) => response.destroy();
    assert.equal((await faultOf(client.json("x"))).message, "The daemon cannot be reached.");
    answer = sends(200, html, "<form>log in</form>");
    assert.match((await faultOf(client.json("x"))).message,
        /^The answer does not come from perfcountd: .* Load the page again/);
});

test("headers or a body that never arrive are reported as late", async () => {
    answer = () => {};
    assert.equal((await faultOf(client.json("x", { patience: 50 }))).message, "The daemon did not answer in time.");
    assert.equal((await faultOf(client.ask("GET", "x", { patience: 50 }))).message,
        "The daemon did not answer in time.");
    answer = (request, response) => {
        response.writeHead(200, json);
        response.write("[");
    };
    assert.equal((await faultOf(client.json("x", { patience: 50 }))).message, "The daemon did not answer in time.");
});

test("a stream has no time limit once it has begun, and ends when its signal is aborted", async (context) => {
    let more;
    const ended = new Promise((resolve) => answer = (request, response) => {
        if (!request.url.endsWith("/stream"))
            return; // a late request from the previous test
        response.writeHead(200, json);
        response.write("1");
        more = () => response.write("2");
        response.on("close", resolve);
    });
    const controller = new AbortController();
    const { setTimeout, clearTimeout } = globalThis, patience = 12345, timers = new Set();
    context.mock.method(globalThis, "setTimeout", (call, ms) =>
        ms === patience ? timers.add(call) : setTimeout(call, ms));
    context.mock.method(globalThis, "clearTimeout", (timer) =>
        timer === timers ? timers.clear() : clearTimeout(timer));
    const response = await client.ask("GET", "stream", { patience, signal: controller.signal });
    const reader = response.body.getReader();
    assert.equal(new TextDecoder().decode((await reader.read()).value), "1");
    timers.forEach((late) => late());
    more();
    assert.equal(new TextDecoder().decode((await reader.read()).value), "2");
    controller.abort();
    await assert.rejects(reader.read(), { name: "AbortError" });
    await ended;
});

test("an aborted request throws its signal's abort reason, and leaves no listener behind", async () => {
    const controller = new AbortController();
    let listeners = 0;
    const signal = new Proxy(controller.signal, {
        get(target, name) {
            listeners += { addEventListener: 1, removeEventListener: -1 }[name] ?? 0;
            const value = target[name];
            return typeof value === "function" ? value.bind(target) : value;
        },
    });
    answer = sends(200, json, "{}");
    for (let i = 0; i < 3; i++)
        await client.json("x", { signal });
    answer = sends(503, json, "{}");
    await faultOf(client.json("x", { signal }));
    assert.equal(listeners, 0);
    answer = () => controller.abort(new Error("left"));
    await assert.rejects(client.json("x", { signal: controller.signal }), { message: "left" });
    await assert.rejects(client.json("x", { signal: controller.signal }), { message: "left" });
});
