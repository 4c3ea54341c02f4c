// SPDX-License-Identifier: Apache-2.0
// The page's stacks are the daemon's: a stream of samples, folded by the page, is the text that /api/v1/folded has of
// the same samples. Needs no browser.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";
import { folded } from "../../web/flame/export.js";
import { readRecords, stackOf } from "../../web/flame/samples.js";
import { StackTree } from "../../web/flame/tree.js";
import { Daemon, eventually, scratch, started } from "./daemon.mjs";

const headers = { "X-Requested-With": "perfcountd" }; // as the page has; node's own look like a browser's

// A program that sleeps but when it is asked to work: all samples of it are then between the asking and "done".
const program = `
    while read -r _ <go; do
        timeout 0.7 dd if=/dev/zero of=/dev/null bs=256k 2>/dev/null
        timeout 0.7 bash -c "while :; do :; done"
        : >done
    done`;

class Program {
    constructor() {
        this.folder = scratch();
        execFileSync("mkfifo", [join(this.folder, "go")]);
        this.child = started("bash", ["-c", program], { cwd: this.folder });
    }

    async work() {
        const done = join(this.folder, "done");

        writeFileSync(join(this.folder, "go"), "\n");
        await eventually("the end of the work", () => existsSync(done), 10);
        rmSync(done);
    }
}

// Resolves, once the stream has begun, to {ended: a promise of {tree, end}}.
async function streamed(url) {
    const response = await fetch(url, { headers }), tree = new StackTree();
    let end = null, ended;

    assert.equal(response.status, 200, response.ok ? "" : await response.text());
    await new Promise((begun) => {
        ended = readRecords(response, (record) => {
            if (record.type === "header")
                begun();
            if (record.type === "sample")
                tree.add(stackOf(record));
            end = record;
        }).then(() => ({ tree, end }));
    });
    return { ended };
}

test("a stream folds to what /api/v1/folded has of the same samples", async () => {
    const daemon = await Daemon.start({ config: "sampler: {enabled: true, allow: everybody, event: cpu-clock}\n" });
    const worker = new Program();
    const query = (seconds) => `pid=${worker.child.pid}&frequency=199&seconds=${seconds}`;

    const both = async () => {
        const text = daemon.get(`/api/v1/folded?${query(5)}`, { headers });
        await eventually("rings", async () => (await daemon.get("/api/v1/status")).descriptors.sampling > 0);
        const stream = await streamed(`${daemon.url}/api/v1/samples?${query(5)}`);
        await worker.work();
        return { ...await stream.ended, text: await text };
    };

    // A sample that came before the symbols of its file has an address in the stream, and a name in the text.
    const { tree, text } = await eventually("samples whose symbols were all known", async () => {
        const answers = await both();
        assert.deepEqual([answers.end.type, answers.end.lost, answers.end.dropped], ["end", 0, 0]);
        return answers.end.awaiting_symbols === 0 && answers;
    }, 60);
    assert.ok(tree.total > 10, `${tree.total} samples`);
    assert.match(folded(tree), /^dd;.*_\[k\] \d+$/m);
    assert.equal(folded(tree), text);
    await daemon.stop();
    worker.child.kill();
});
