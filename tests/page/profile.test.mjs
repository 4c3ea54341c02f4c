// SPDX-License-Identifier: Apache-2.0
// The view of profiles: recordings of this machine, and of a program whose profile is known.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { basename } from "node:path";
import test, { after } from "node:test";
import { eventually, rest } from "./daemon.mjs";
import { build_hot, frames, is_recording, knows, open_session, press, record, runs, samples, select, texts, widest,
         with_hot } from "./recordings.mjs";

const hot = build_hot();
const program = basename(hot);
const session = await open_session();
let idle = session.daemon.events();
const is_idle = () => session.daemon.events() === idle && session.daemon.rings() === 0;
after(() => session.close());

async function cpu_share(pid) {
    const ticks = () => Number(readFileSync(`/proc/${pid}/stat`, "latin1").split(") ")[1].split(" ")[11]);
    const begin = ticks();

    await rest(1000);
    return Math.max(0.1, (ticks() - begin) / 100);
}

// As many samples as tests/e2e/lib.sh wants: five standard deviations are 3 points.
test("its functions are as wide as their time, in the model and on the screen", () => session.see("#profile",
    async (view) => {
        const { found, truth } = await with_hot(hot, async (pid) => {
            const seconds = Math.min(30, Math.ceil(5830 * 1.5 / 1999 / await cpu_share(pid)));
            await view.go(`#profile?pid=${pid}&frequency=1999&seconds=${seconds}&by=merged`);
            await knows(view, pid);
            await record(view, seconds);
            const [list] = await frames(view);
            const of = (name) => list.filter((one) => one.name === name).sort((a, b) => b.width - a.width)[0];
            return { seventy: of("hot_seventy"), thirty: of("hot_thirty"),
                     about: await view.text(".panel:not([hidden]) .quiet"),
                     hottest: (await texts(view, "main tbody th"))[0],
                     runs: await runs(view, Math.round(of("hot_seventy").y) + 1) }; // above the letters
        });
        const shares = [found.seventy.width / (found.seventy.width + found.thirty.width),
                        found.runs[0] / (found.runs[0] + found.runs[1])];

        assert.ok(Number(/([\d,]+) samples/.exec(found.about)[1].replace(",", "")) >= 5830, found.about);
        assert.ok(truth > 0.68 && truth < 0.72, `by its own clock ${truth}`);
        for (const share of shares)
            assert.ok(Math.abs(share - truth) < 0.03, `shares ${shares} against ${truth}`);
        assert.equal(found.seventy.row, found.thirty.row, "both have the same caller");
        assert.match(found.hottest, /^hot_seventy/);
    }));

test("two recordings and their difference", () => session.see("#profile?frequency=499&seconds=1.5", async (view) => {
    await with_hot(hot, async (pid) => {
        await knows(view, pid);
        await record(view);
    });
    await press(view, "Keep as A");
    await record(view);
    const [a, b] = await frames(view);
    assert.ok(widest(a, program) > 20, "A has the program");
    assert.equal(widest(b, program), 0, "B does not have it");
    await select(view, "compare", "difference");
    const graphs = await frames(view);
    assert.equal(graphs.length, 1);
    const gone = await view.page.evaluate((program) => {
        const canvas = [...document.querySelectorAll("main canvas")].find((one) => one.offsetParent);
        return [...canvas.flame.tree.nodes()].filter((one) => one.name === program)
            .map(({ before, after }) => ({ before, after }));
    }, program);
    assert.ok(gone.some(({ before, after }) => before > 0.05 && after === 0), JSON.stringify(gone));
    // Its functions have names as far as the daemon has memory for the symbols of all programs.
    const rows = await texts(view, "main tbody tr");
    const row = rows.find((one) => one.startsWith("hot_seventy") || one.startsWith(`[${program}]`));
    assert.match(row ?? rows.join("; "), /%.*%.*[-−][\d.]+ points/s, "the table has the shares of both");
    await press(view, "Forget A");
    assert.equal((await frames(view)).length, 1);
}));

test("is drawn while it comes, by process or merged, and ends by itself", () =>
    session.see("#profile?seconds=3&frequency=199", async (view) => {
        await press(view, "Record");
        await samples(view, 20);
        await view.until("a graph", () => document.querySelector("main canvas")?.flame.frames().length > 2);
        const [processes] = await frames(view);
        assert.ok(processes.some(({ kind }) => kind === "process"));
        await select(view, "by", "merged");
        const [merged] = await frames(view);
        assert.ok(!merged.some(({ kind }) => kind === "process"));
        await is_recording(view, false);
        await eventually("no rings", is_idle, 1);
        await view.sees(/cpu-clock at 199 Hz, 3 s, [\d,]+ samples/);
    }));

test("stops and keeps what it has", () => session.see("#profile?seconds=60", async (view) => {
    await press(view, "Record");
    await samples(view, 20);
    await press(view, "Stop");
    await view.sees(/You stopped it after \d+ s\./, ".notes");
    await eventually("no rings", is_idle, 1);
    assert.ok((await frames(view))[0].length > 1);
}));

test("ends when the tab is hidden", () => session.see("#profile?seconds=60", async (view) => {
    await press(view, "Record");
    await samples(view, 20);
    const show = await view.hide();
    await eventually("no rings", is_idle, 1);
    const asked = view.requests.length;
    await rest(1500);
    assert.equal(view.requests.length, asked, "nothing is asked for while it is hidden");
    await show();
    await view.sees(/when this tab was hidden/, ".notes");
    assert.ok((await frames(view))[0].length > 1);
}));

test("ends when the view is left, and is there again", () => session.see("#profile?seconds=60", async (view) => {
    await press(view, "Record");
    await samples(view, 20);
    await view.go("#health");
    await eventually("no rings", is_idle, 1);
    await view.go("#profile?seconds=60");
    await view.sees(/when you went to another view/, ".notes");
    assert.ok((await frames(view))[0].length > 1);
}));

test("ends when the tab is closed", async () => {
    await session.see("#profile?seconds=60", async (view) => {
        await press(view, "Record");
        await samples(view, 20);
        assert.ok(session.daemon.events() > idle);
    });
    await eventually("no rings", is_idle, 1);
});

test("is kept when the daemon goes away, and works when it is back", () =>
    session.see("#profile?seconds=60", async (view) => {
        view.expect(/ERR_|Failed to load/);
        await press(view, "Record");
        await samples(view, 20);
        await session.daemon.stop("SIGKILL");
        await view.sees(/broke.*What came until then, \d+ s, is kept/s, ".notes");
        assert.ok((await frames(view))[0].length > 1);
        await press(view, "Record");
        await view.sees(/cannot be reached|502/, "main [role=alert]");
        assert.ok((await frames(view))[0].length > 1, "what was recorded before is still there");
        await session.daemon.again();
        idle = session.daemon.events();
        await view.page.$eval("#profile-seconds", (one) => one.value = "0.5");
        await record(view);
        await view.sees(/cpu-clock at 99 Hz, \d s/);
    }));

test("of another tab may be one too many", () => session.see("#profile?seconds=60", async (first) =>
    session.see("#profile?seconds=60&frequency=50", (second) => session.see("#profile?seconds=1", async (view) => {
        view.expect(/status of 503/);
        for (const other of [first, second]) {
            await other.page.bringToFront();
            await other.page.evaluate(() => fetch("api/v1/samples?seconds=30").then((one) => window.kept = one));
        }
        await view.page.bringToFront();
        await press(view, "Record");
        await view.sees(/2 clients have samples already.*Record again later/, "main [role=alert]");
    }))));
