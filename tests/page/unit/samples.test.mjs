// SPDX-License-Identifier: Apache-2.0
// Tests parsing the lines of a stream, wherever it is split and whatever it contains.
import assert from "node:assert/strict";
import test from "node:test";
import { readRecords } from "../../../web/flame/samples.js";
import { Random } from "./stacks.mjs";

const MB = 1 << 20;

function bytes(text) {
    return new TextEncoder().encode(text);
}

// Returns a response whose body arrives in `pieces`. With `error`, the body breaks off; without `closes`, it never
// ends.
function response(pieces, { error = null, closes = true } = {}) {
    const waiting = [...pieces];

    return new Response(new ReadableStream({
        pull(controller) {
            if (waiting.length > 0)
                controller.enqueue(waiting.shift());
            else if (error)
                controller.error(error);
            else if (closes)
                controller.close();
        },
    }));
}

async function read(pieces, options) {
    const records = [];
    const counts = await readRecords(response(pieces, options), (record) => records.push(record));

    return { ...counts, taken: records };
}

test("a stream that is split at any byte gives the same records", async () => {
    const text = '{"type":"header"}\r\n\n{"comm":"é \u{1f600} \\u00e9"}\n{"type":"end"}\n', all = bytes(text);
    const wanted = [{ type: "header" }, { comm: "é \u{1f600} é" }, { type: "end" }];

    for (let at = 0; at <= all.length; at++) {
        const found = await read([all.slice(0, at), all.slice(at)]);
        assert.deepEqual(found, { records: 3, broken: 0, long: 0, ended: "whole", taken: wanted }, `cut at ${at}`);
    }
    const found = await read([...all].map((byte) => Uint8Array.of(byte)));
    assert.deepEqual(found.taken, wanted);
});

test("lines that are not a JSON object are counted and skipped", async () => {
    const lines = ["nothing", "null", "3", "[{}]", '"text"', '{"open":', '{"a":1}}', "[".repeat(100000), "\0", "{}"];
    const found = await read([bytes(`${lines.join("\n")}\n`)]);

    assert.equal(found.broken, 9);
    assert.deepEqual(found.taken, [{}]);
    assert.equal(found.ended, "whole");
});

test("bytes that are not UTF-8 become U+FFFD and do not affect what follows", async () => {
    const found = await read([bytes('{"comm":"a'), Uint8Array.of(0xff, 0xc3), bytes('b"}\n{"comm":"c"}\n')]);

    assert.deepEqual(found.taken, [{ comm: "a\ufffd\ufffdb" }, { comm: "c" }]);
});

test("__proto__ is a field like any other", async () => {
    const found = await read([bytes('{"__proto__":{"polluted":1},"constructor":2}\n')]);

    assert.equal(found.taken[0].polluted, undefined);
    assert.equal({}.polluted, undefined);
});

test("after an unterminated line or a broken connection, the stream is reported as cut", async () => {
    assert.equal((await read([bytes('{"a":1}\n{"b"')])).ended, "cut");
    assert.equal((await read([bytes('{"a":1}\n')], { error: new TypeError("network") })).ended, "cut");
    assert.deepEqual(await read([]), { records: 0, broken: 0, long: 0, ended: "whole", taken: [] });
});

test("a signal stops the stream; records that arrived are kept", async () => {
    const stop = new AbortController(), taken = [];
    const reading = readRecords(response([bytes('{"a":1}\n{"a":2}\n')], { closes: false }), (record) => {
        taken.push(record);
        stop.abort();
    }, stop.signal);

    assert.deepEqual(await reading, { records: 1, broken: 0, long: 0, ended: "stopped" });
    assert.deepEqual(taken, [{ a: 1 }]);
    const waiting = new AbortController();
    setTimeout(() => waiting.abort(), 10);
    assert.equal((await readRecords(response([], { closes: false }), () => {}, waiting.signal)).ended, "stopped");
    assert.equal((await readRecords(response([bytes("{}\n")]), () => {}, AbortSignal.abort())).records, 0);
});

test("an exception in the receiver ends the stream", async () => {
    let cancelled = false;
    const body = new ReadableStream({
        pull: (controller) => controller.enqueue(bytes("{}\n")),
        cancel: () => cancelled = true,
    });

    await assert.rejects(readRecords(new Response(body), () => {
        throw new Error("mine");
    }), /mine/);
    assert.ok(cancelled);
});

test("a line of 100 MB is skipped and not held in memory", async () => {
    const piece = new Uint8Array(MB / 4).fill(0x61), before = globalThis.process.memoryUsage.rss();
    let n = 0, most = 0;
    const body = new ReadableStream({
        pull(controller) {
            most = Math.max(most, globalThis.process.memoryUsage.rss() - before);
            if (n++ < 400)
                return controller.enqueue(piece);
            controller.enqueue(bytes('\n{"after":1}\n'));
            return controller.close();
        },
    }, { highWaterMark: 0 });
    const taken = [];
    const counts = await readRecords(new Response(body), (record) => taken.push(record));

    assert.deepEqual(counts, { records: 1, broken: 0, long: 1, ended: "whole" });
    assert.deepEqual(taken, [{ after: 1 }]);
    assert.ok(most < 64 * MB, `${(most / MB).toFixed()} MB more`);
});

test("a line of 1 MB is accepted, and one character more is not", async () => {
    const line = (size) => bytes(`${JSON.stringify({ a: "x".repeat(size - 8) })}\n`);

    assert.equal((await read([line(MB)])).records, 1);
    assert.equal((await read([line(MB + 1), line(20)])).records, 1);
    assert.equal((await read([line(MB + 1)])).long, 1);
    assert.deepEqual(await read([line(MB + 1).slice(0, -1)]),
        { records: 0, broken: 0, long: 1, ended: "cut", taken: [] });
});

test("random bytes never cause an exception", async () => {
    const random = new Random(15), pieces = ["{", "}", '"', ":", "[", "]", "\n", "\\", "type", "\xff", "1e999", " "];

    for (let i = 0; i < 500; i++) {
        const chunks = random.list(5, () => random.below(2)
            ? Uint8Array.from(random.list(random.below(60), () => random.below(256)))
            : bytes(random.list(random.below(30), () => random.of(pieces)).join("")));
        const lines = new TextDecoder().decode(Uint8Array.from(chunks.flatMap((chunk) => [...chunk])));
        const found = await read(chunks);
        const whole = lines.split("\n").slice(0, -1).filter((line) => line.trim() !== "").length;
        assert.equal(found.records + found.broken, whole, JSON.stringify(lines));
    }
});
