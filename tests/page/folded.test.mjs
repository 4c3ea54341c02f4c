// SPDX-License-Identifier: Apache-2.0
// The page folds a stream of samples into the same text that /api/v1/folded returns for them. This test needs no
// browser.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";
import { folded } from "../../web/flame/export.js";
import { readRecords, stacksOf } from "../../web/flame/samples.js";
import { StackTree } from "../../web/flame/tree.js";
import { Daemon, eventually, scratch, started } from "./daemon.mjs";

const headers = { "X-Requested-With": "perfcountd" }; // required, since node sets Sec-Fetch-Mode

// A program that sleeps until it is told to work: all its samples are taken between that request and "done".
const program = `
    while read -r _ <go; do
        dd if=/dev/zero of=/dev/null bs=256k count=8000 2>/dev/null
        bash -c "for ((i = 0; i < 50000; i++)); do :; done"
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
        await eventually("the end of the work", () => existsSync(done));
        rmSync(done);
    }
}

// Resolves to {ended: a promise of {tree, end}} as soon as the stream has begun.
async function streamed(url) {
    const response = await fetch(url, { headers }), tree = new StackTree({ isTime: url.includes("off-cpu") });
    let end = null, ended;

    assert.equal(response.status, 200, response.ok ? "" : await response.text());
    await new Promise((begun) => {
        ended = readRecords(response, (record) => {
            if (record.type === "header")
                begun();
            if (record.type === "sample")
                stacksOf(record).forEach(([frames, weight]) => tree.add(frames, weight));
            end = record;
        }).then(() => ({ tree, end }));
    });
    return { ended };
}

const folds = (title, asked, line, options) => test(title, options, async () => {
    const daemon = await Daemon.start({ config: "sampler: {enabled: true, allow: everybody, event: cpu-clock}\n" });
    const worker = new Program();
    const query = (seconds) => `pid=${worker.child.pid}&${asked}&seconds=${seconds}`;

    const both = async () => {
        const text = daemon.get(`/api/v1/folded?${query(5)}`, { headers });
        await eventually("ring buffers", async () => (await daemon.get("/api/v1/status")).descriptors.sampling > 0);
        const { ended } = await streamed(`${daemon.url}/api/v1/samples?${query(5)}`);
        let worked = false;
        const work = worker.work().then(() => worked = true);
        const answers = { ...await ended, worked, text: await text };
        await work;
        return answers;
    };

    // Repeats the recording until the daemon has read all symbols in time. If a sample is sent before a file's symbols
    // have been read, its frames in that file have addresses in the stream but names in the folded text.
    const { tree, text } = await eventually("a complete recording with all symbols", async () => {
        const answers = await both(), { end } = answers;
        return end.type === "end" && answers.worked && end.lost + end.dropped + end.awaiting_symbols === 0 && answers;
    });
    assert.ok(tree.total > 0);
    assert.match(folded(tree), line);
    assert.equal(folded(tree), text.replace(/^# .*\n/m, ""),
                 "both texts are equal, apart from the comment about truncated stacks");
    await daemon.stop();
    worker.child.kill();
});

folds("a folded stream equals the text of /api/v1/folded for the same samples", "frequency=199", /^dd;.*_\[k\] \d+$/m);
folds("a folded stream of off-CPU time equals the text of /api/v1/folded, too", "event=off-cpu",
      /^sleeping;bash;.*_\[k\] \d+$/m, { skip: process.getuid() !== 0 && "root, to load BPF programs" });
