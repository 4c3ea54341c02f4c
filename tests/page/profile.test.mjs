// SPDX-License-Identifier: Apache-2.0
// Tests the Profile view: recordings (one of a program with a known profile), controls, the URL, and downloads.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { copyFileSync, readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import test, { after } from "node:test";
import { Session, root } from "./browser.mjs";
import { eventually, scratch, started } from "./daemon.mjs";

const sampler = (words) => `sampler: {${words}}\n`;
const config = sampler("enabled: true, allow: local, event: cpu-clock, max_clients: 2");
const session = await Session.open({ config });
const { daemon } = session;
after(() => session.close());

// A copy of tests/e2e/hot.c with a unique name. The program spends 70 % of its time in hot_seventy() and 30 % in
// hot_thirty().
const hot = join(scratch(), `hot${process.pid}`), program = basename(hot);
execFileSync("cc", ["-O1", "-fno-omit-frame-pointer", "-o", hot, join(root, "tests/e2e/hot.c")]);

async function withHot(view, body) {
    const child = started(hot, ["600"]);

    // The daemon reads a program's symbols when the program first appears in a stream.
    await view.until("resolved symbols", async (pid) =>
        (await (await fetch(`api/v1/samples?seconds=0.3&frequency=199&pid=${pid}`)).text()).includes("hot_seventy"),
                     child.pid);
    await body(child.pid);
    child.kill("SIGKILL");
    await eventually("the end of the program", () => child.signalCode);
}

const closed = () => eventually("closed ring buffers", () => daemon.rings() === 0);
const opened = () => eventually("the recording's ring buffers", () => daemon.rings() > 0);
const widest = (frames, name) => Math.max(0, ...frames.filter((one) => one.name === name).map((one) => one.width));
const select = (view, name, value) => view.page.select(`main select[name=${name}]`, value);
const texts = (view, selector) => view.page.$$eval(selector, (all) => all.map((one) => one.innerText));
const query = (view) => new URLSearchParams(view.page.url().split("?")[1]);

test("frames are as wide as their share of time", () => session.see("#profile", (view) => withHot(view, async (pid) => {
    await view.go(`#profile?pid=${pid}&frequency=999&seconds=600&by=merged`);
    await view.press("Record");
    await view.samples(1000);
    await view.press("Stop");
    await view.idle();
    const [frames] = await view.frames();
    const [seventy, thirty] = ["hot_seventy", "hot_thirty"].map((name) => frames.find((one) => one.name === name));

    assert.equal(seventy.row, thirty.row, "both functions have the same caller");
    assert.ok(seventy.width > 1.5 * thirty.width && seventy.width < 4 * thirty.width,
              `${seventy.width} and ${thirty.width}`);
    assert.match((await texts(view, "main tbody th"))[0], /^hot_seventy/);
})));

test("two recordings can be compared", () => session.see("#profile?frequency=499&seconds=1.5", async (view) => {
    await withHot(view, async () => {
        await view.record();
        const [frames] = await view.frames();
        assert.ok(widest(frames, program) > 0);
    });
    await view.press("Keep as A");
    await view.record();
    const [a, b] = await view.frames();
    assert.ok(widest(a, program) > 0, "recording A contains the program");
    assert.equal(widest(b, program), 0, "recording B does not contain it");
    await select(view, "compare", "difference");
    assert.equal((await view.frames()).length, 1);
    const shares = await view.page.evaluate((program) => {
        const { flame } = [...document.querySelectorAll("main canvas")].find((one) => one.offsetParent);
        return [...flame.tree.nodes()].filter((one) => one.name === program)
            .map(({ before, after }) => ({ before, after }));
    }, program);
    assert.ok(shares.some(({ before, after }) => before > 0 && after === 0), JSON.stringify(shares));
    // If the symbols of all programs do not fit into the daemon's memory, the functions have no names, and the page
    // shows the name of the program's file, which is unique.
    const rows = await texts(view, "main tbody tr");
    const row = rows.find((one) => /^(hot_seventy|\[)/.test(one) && one.includes(program));
    assert.match(row ?? rows.join("; "), /%.*%.*[-−][\d.]+ ± [\d.]+ points/s,
                 "the table shows the shares of both recordings");
    const isQuiet = (name) => view.page.$$eval("main tbody tr", (all, name) => all.filter((one) =>
        one.innerText.startsWith(name)).map((one) => one.querySelector("td:nth-child(4)").className), name);
    assert.match((await isQuiet(row.split(/\s/)[0])).join(), /number(,|$)/, "a significant change is not grey");
    await view.press("Forget A");
    assert.equal((await view.frames()).length, 1);
}));

test("a recording is drawn while samples arrive, by process or merged, and ends by itself", () =>
    session.see("#profile?seconds=5&frequency=199", async (view) => {
        await view.press("Record");
        const [processes] = await view.frames();
        assert.ok(processes.some(({ kind }) => kind === "process"));
        await select(view, "by", "merged");
        const [merged] = await view.frames();
        assert.ok(!merged.some(({ kind }) => kind === "process"));
        await view.idle();
        await closed();
        await view.sees(/cpu-clock at 199 Hz, 5 s, [\d,]+ samples/);
    }));

// What ends a recording, what the page then says, and how to show the view again.
const ends = {
    "when it is stopped": [(view) => view.press("Stop"), /You stopped it after \d+ s\./, () => {}],
    "when the tab is hidden": [(view) => view.hide(), /when this tab was hidden/, (view, show) => show()],
    "when the view is left": [(view) => view.go("#health"), /when you went to another view/,
        (view) => view.go("#profile?seconds=600")],
};

for (const [when, [end, note, back]] of Object.entries(ends))
    test(`a recording ends ${when} and keeps its samples`, () => session.see("#profile?seconds=600", async (view) => {
        await view.press("Record");
        await view.samples(20);
        await opened();
        const answer = await end(view);
        await closed();
        await back(view, answer);
        await view.sees(note, ".notes");
        await view.frames();
    }));

test("a recording ends when the tab is closed", async () => {
    await session.see("#profile?seconds=600", async (view) => {
        await view.press("Record");
        await opened();
    });
    await closed();
});

test("a recording is kept when the daemon stops, and a new one works after the daemon has restarted", () =>
    session.see("#profile?seconds=600", async (view) => {
        view.expect(/ERR_|Failed to load/);
        await view.press("Record");
        await view.samples(20);
        await daemon.stop("SIGKILL");
        await view.sees(/(lost|cut off).*The samples until then, \d+ s, are kept/s, ".notes");
        await view.frames();
        await view.press("Record");
        await view.sees(/cannot be reached|502/, "main [role=alert]");
        await view.frames(); // the previous recording is still shown
        await daemon.again();
        await view.page.$eval("#profile-seconds", (one) => one.value = "0.5");
        await view.record();
        await view.sees(/cpu-clock at 99 Hz, \d s/);
    }));

test("a recording beyond sampler.max_clients is refused", () => session.see("#profile?seconds=600", async (first) =>
    session.see("#profile?seconds=600&frequency=50", (second) => session.see("#profile?seconds=1", async (view) => {
        view.expect(/status of 503/);
        for (const other of [first, second]) {
            await other.page.bringToFront();
            await other.page.evaluate(() => fetch("api/v1/samples?seconds=600").then((one) => void one.text()));
        }
        await view.page.bringToFront();
        await view.press("Record");
        await view.sees(/clients already receive samples \(sampler.max_clients is 2\).*Record again later/,
            "main [role=alert]");
    }))));

// --- off-CPU time

// tests/e2e/waits.c measures how long each of its functions waits.
const waits = join(scratch(), `waits${process.pid}`), waiter = basename(waits);
execFileSync("cc", ["-O1", "-g", "-fno-omit-frame-pointer", "-pthread", "-o", waits,
                    join(root, "tests/e2e/waits.c")]);
const offCpu = (title, body) => test(title, { skip: process.getuid() !== 0 && "root, to load BPF programs" }, body);

// Waits for the form's list of events, whose arrival redraws the cards.
const eventsAreListed = (view) =>
    view.until("the list of events", () => document.querySelector("#profile-event").placeholder !== "");

async function withWaits(view, body) {
    const child = started(waits, ["600"]);

    await view.until("resolved symbols", async (pid) =>
        (await (await fetch(`api/v1/samples?seconds=0.3&frequency=199&pid=${pid}`)).text()).includes("run_part"),
                     child.pid);
    await body(child.pid);
    child.kill("SIGKILL");
    await eventually("the end of the program", () => child.signalCode);
}

// Returns for how many nanoseconds a function of the program waits, by state, in the last visible graph.
const waitsOf = (view, name) => view.page.evaluate((program, name) => {
    const { flame } = [...document.querySelectorAll("main canvas")].filter((one) => one.offsetParent).at(-1) ?? {};
    const found = {};

    for (const node of flame?.tree?.nodes() ?? [])
        if (node.name === name && node.path()[1].name === program)
            found[node.path()[0].name] = (found[node.path()[0].name] ?? 0) + node.total;
    return found;
}, waiter, name);

offCpu("a function's off-CPU time, summed over task states, agrees with the program's own measurement", () =>
    session.see("#profile?seconds=600", async (view) => {
        await withWaits(view, () => {}); // makes the daemon read the symbols, which it keeps for a while
        await eventsAreListed(view);
        await view.page.click(".kinds label:nth-of-type(2)");
        assert.deepEqual(await texts(view, ".options :checked + span b"), ["Off-CPU time"]);
        assert.equal(await view.text(".proposal"), "each wait of at least 1ms");
        await view.press("Record");
        await view.sees(/[1-9]\d* waits?,/, ".progress");
        const child = started(waits, ["3"]);
        let said = "";
        child.stdout.on("data", (text) => said += text);
        const ns = 1000 * await eventually("the measurement", () => Number(/sleep_part (\d+)/.exec(said)?.[1]));
        let found;
        const all = async () => {
            found = await waitsOf(view, "sleep_part"); // a sleeping task that was woken may still wait for a CPU
            return (found.sleeping ?? 0) + (found.runnable ?? 0);
        };
        await eventually(() => `waits of ${ns} ns: ${JSON.stringify(found)}`, async () => await all() > 0.95 * ns);
        await view.press("Stop");
        await view.idle();
        assert.ok(await all() < 1.05 * ns, `${JSON.stringify(found)} of ${ns}`);
        assert.ok(found.sleeping > 0);
        assert.ok((await waitsOf(view, "run_part")).runnable > 0, "a task that waits for a CPU is runnable");
        await view.sees(/off-cpu of 1 ms and more, .* waits, [\d.]+ m?s in total/);
        await view.sees("Functions that waited longest", ".result h3");
        assert.match((await texts(view, "main tbody td.number"))[0], /^[\d.,]+ m?s, [\d.]+%$/);
        await select(view, "by", "merged");
        const [frames] = await view.frames();
        assert.ok(!frames.some(({ kind }) => kind === "process") && frames.some(({ kind }) => kind === "state"));
        assert.deepEqual(await view.findings(), []);
    }));

offCpu("one click records on-CPU and off-CPU time, with the given threshold and state", () => session.see(
    "#profile?seconds=1", (view) => withWaits(view, async (pid) => {
        await view.go(`#profile?event=off-cpu&threshold=2ms&state=blocked&frequency=99&seconds=2&pid=${pid}`);
        const { href } = await view.page.$eval("main a[download='profile.pb.gz']", ({ href }) => ({ href }));
        assert.deepEqual(Object.fromEntries(new URL(href).searchParams), {
            event: "off-cpu", threshold: "2ms", state: "blocked", seconds: "2", pid: String(pid) });
        await view.press("Record on and off CPU");
        await view.idle();
        const [on, off] = await view.frames();
        assert.ok(widest(on, "run_part") > widest(on, "sleep_part")); // going to sleep takes a little CPU time
        assert.ok(widest(off, "sleep_part") > 0 && !widest(off, "runnable"));
        assert.deepEqual((await texts(view, ".panel:not([hidden]) h3")), ["On CPU", "Off CPU"]);
        const asked = view.asked(/api\/v1\/samples\?seconds=2|samples\?event/)
            .map(({ url }) => new URL(url).searchParams).filter((one) => one.get("seconds") === "2");
        assert.deepEqual(asked.map((one) => [one.get("event"), one.get("threshold"), one.get("pid")]),
                         [["off-cpu", "2ms", String(pid)], [null, null, String(pid)]]);
        await view.look({ width: 360 });
        await view.fits();
        assert.deepEqual(await view.findings(), []);
        await view.record();
        assert.equal((await view.frames()).length, 1);
    })));

// --- past samples

const kept = "enabled: true, allow: local, hindsight: {enabled: true, seconds: 3600, memory: 256MiB}";
const now = async () => (await daemon.get("/api/v1/status")).timestamp;

// Runs a copy of the program until it exits, in an interval of whole seconds in which no other copy runs.
async function ran(name) {
    const path = join(scratch(), name), until = (time) => eventually(`${time}`, async () => await now() > time);
    const from = Math.ceil(await now());

    copyFileSync(hot, path);
    await until(from);
    execFileSync(path, ["3"]);
    const to = Math.ceil(await now());
    await until(to);
    return { name, from, to };
}

test("a dragged interval links to the flame graph of a program that has since ended", () => configured(kept,
    async () => {
        const first = await ran(`a${process.pid}`), second = await ran(`b${process.pid}`);
        const around = { from: second.from - 5, to: second.to + 5 }; // the chart keeps moving while the pointer drags
        const names = async (view) => {
            await view.frames();
            return view.page.$eval("main canvas", (one) => [...one.flame.tree.nodes()].map(({ name }) => name));
        };
        const where = "[aria-label=Recording] ~ .result .past", asked = (view) => view.asked(/api\/v1\/samples/);

        await session.see("#overview", async (view) => {
            await view.until("the interval of the program in the chart", ({ from, to }) => {
                const { shown } = document.querySelector(".stack")?.stack ?? {};

                return shown?.ends.at(-1) > to && shown.since < from;
            }, around);
            const place = (time) => view.page.evaluate((time) => {
                const root = document.querySelector(".stack"), box = root.getBoundingClientRect();

                return [box.x + root.stack.x(time), box.y + 60];
            }, time);
            await view.page.mouse.move(...await place(around.from));
            await view.page.mouse.down();
            await view.page.mouse.move(...await place(second.to));
            await view.page.mouse.move(...await place(around.to));
            await view.page.mouse.up();
            await view.sees("Flame graph of this interval", ".bubble");
            const dragged = query(view);
            await view.page.evaluate(() => [...document.querySelectorAll(".bubble a")].find((one) =>
                one.innerText === "Flame graph of this interval").click());
            await view.until("the view Profile", () => document.getElementById("main").dataset.view === "profile");
            await view.idle();
            const found = await names(view);
            assert.ok(found.includes(second.name), `${JSON.stringify(second)}, ${dragged}: ${await view.text(where)} ` +
                found.join());
            assert.deepEqual(["from", "to"].map((name) => query(view).get(name)),
                             ["from", "to"].map((name) => dragged.get(name)));
            const [{ url }] = asked(view);
            assert.deepEqual([...new URL(url).searchParams.keys()], ["last"]);
        });
        await session.see(`#profile?from=${second.from}&to=${second.to}&event=page-faults`, async (view) => {
            await view.sees(/\d s: complete\.$/, where);
            await view.idle();
            const seen = await names(view);
            assert.ok(seen.includes(second.name), seen.join());
            // The graph contains the function, or its file if the daemon is still reading the symbols.
            assert.ok(seen.includes("hot_seventy") || seen.includes(`[${second.name}]`), seen.join());
            assert.ok(!seen.includes(first.name), "a program that ran before the interval is not shown");
            assert.match(await view.page.$eval("main a[download='perf.data']", (one) => one.href), /\?last=\d+$/);
            await view.sees("have all samples since", "#profile-again");
            assert.deepEqual(await view.findings(), []);
            await view.look({ width: 360 });
            await view.fits();
            await view.go("#health");
            await view.page.goBack();
            await view.sees(/\d s: complete\.$/, where);
            await view.go(`#profile?from=${first.from}&to=${first.to}`);
            await view.until("the other program", (wanted) =>
                [...document.querySelector("main canvas").flame.tree.nodes()].some(({ name }) => name === wanted),
                             first.name);
            assert.equal(asked(view).length, 2, "each interval is requested once");
            await view.until("the form", () => document.querySelectorAll(".spans label").length === 4);
            await view.page.click(".spans label:last-of-type");
            assert.equal(query(view).get("seconds"), "last");
            await view.record();
            const all = await names(view);
            assert.ok(all.includes(first.name) && all.includes(second.name), all.join());
            assert.match(asked(view).at(-1).url, /\?last=3600$/);
            assert.deepEqual([query(view).get("from"), query(view).get("to")], [null, null]);
            await view.sees(/^\d.*the daemon had samples of/, where);
        });
        await session.see("#profile?from=1000&to=2000", (view) =>
            view.sees(/the daemon no longer has these samples/, where));
    }));

test("without hindsight, the daemon's error says how to enable it", () => session.see("#profile?from=1000&to=2000",
    async (view) => {
        view.expect(/status of 403/);
        await view.sees(/hindsight: \{enabled: true\}/, "main [role=alert]");
        await view.until("the form", () => document.querySelector("#profile-event").placeholder !== "");
        assert.equal(await view.page.$$eval(".spans label", (all) => all.length), 3);
    }));

// --- controls

const refused = (hash, control, pattern) => test(`${hash} is refused with an error at ${control}`, () =>
    session.see(hash, async (view) => {
        view.expect(/status of 40[034]/);
        await view.press("Record");
        await view.sees(pattern, `#profile-${control}-fault`);
        const focus = await view.focused();
        assert.equal(focus.id, `profile-${control}`);
        assert.equal(await view.page.$eval(`#${focus.id}`, (one) => one.getAttribute("aria-invalid")), "true");
    }));

refused("#profile?event=nosuch", "event", /there is no event "nosuch"/);
refused("#profile?event=sched:sched_switch", "event", /sampler\.tracepoints/);
refused("#profile?event=%3Cimg%20src%3Dx%20onerror%3Dalert(1)%3E", "event", /an event is missing before "<"/);
refused("#profile?cpu=999", "cpu", /this machine has no CPU 999/);
refused("#profile?pid=x", "pid", /expected a whole number/);
refused("#profile?cgroup=/nosuch", "cgroup", /there is no cgroup \/nosuch/);
refused("#profile?event=off-cpu&threshold=0", "threshold", /expected seconds above 0/);
refused("#profile?period=x", "rate", /expected a whole number/);
refused("#profile?seconds=-1", "seconds", /expected seconds/);

// Restarts the daemon with another sampler configuration.
async function configured(words, body) {
    await daemon.restart(`${sampler(words)}history: {interval: 1s}\n`);
    try {
        await body();
    } finally {
        await daemon.restart(config);
    }
}

test("if sampling is disabled, the view shows the lines that enable it, and no error", () => configured(
    "enabled: false", () => session.see("#profile", async (view) => {
        view.expect(/status of 403|ERR_CONNECTION_REFUSED .*\/page\//); // other views are preloaded during the restart
        await view.sees("Samples are off on this machine", ".guide");
        await view.sees(/Without systemd, .*--sampler\.enabled/s, ".guide");
        assert.deepEqual(await texts(view, ".guide pre"), ["sampler: {enabled: true}\n" +
            "web: {local_operators: true}    # browsers on this machine may record\n",
            "sudo systemctl restart perfcountd\n"]);
        await view.sees(`1. Add these lines to ${daemon.folder}/perfcountd.yaml`, ".guide");
        await view.press("Record");
        await view.idle();
        assert.deepEqual(await texts(view, "main :is(.bad, [role=alert])").then((all) => all.filter(Boolean)), []);
        assert.deepEqual(await view.findings(), []);
        const [yaml] = await texts(view, ".guide pre");
        await configured("enabled: false", async () => {
            await daemon.restart(yaml); // the lines that are shown must work
            await view.go("#health");
            await view.go("#profile?seconds=0.5", { fresh: true });
            await view.record();
            await view.frames();
        });
    })));

test("a client that is not an operator is told how to become one", () => configured("enabled: true", () =>
    session.see("#profile", async (view) => {
        view.expect(/status of 403/);
        await view.press("Record");
        await view.sees(/for operators: clients with a password.*sampler\.allow: local/, "main [role=alert]");
    })));

test("an event can be found with the keyboard", () => session.see("#profile?seconds=0.3", async (view) => {
    await eventsAreListed(view);
    await view.page.click(".advanced summary");
    await view.page.focus("#profile-event");
    await view.key("ArrowDown", "ArrowDown");
    assert.equal(await active(view), "cpu-clock", "the first suggestion");
    await view.key("Escape");
    assert.equal(await view.page.$eval("#profile-event", (one) => one.getAttribute("aria-expanded")), "false");
    await view.page.keyboard.type("context sw");
    await view.key("ArrowDown", "Enter");
    assert.equal(await view.page.$eval("#profile-event", (one) => one.value), "context-switches");
    assert.match(view.page.url(), /event=context-switches/);
    await view.key("Enter");
    await view.sees(/context-switches (each event|every [\d,]+ events), \d s/);
    assert.deepEqual(await view.findings(), []);
}));

const active = (view) => view.page.$eval("#profile-event", (one) =>
    document.getElementById(one.getAttribute("aria-activedescendant"))?.querySelector(".name").innerText);

test("a link fills in the form and starts nothing", () => {
    const state = "event=page-faults&period=7&seconds=2&cpu=0&cgroup=%2Fa&pid=1&search=main&zoom=a%253Bb;c&by=merged" +
        "&shape=flame";
    return session.see(`#profile?record=1&${state}`, async (view) => {
        await eventsAreListed(view);
        assert.equal(view.asked(/api\/v1\/samples/).length, 0);
        const values = await view.page.$$eval("main form .advanced :is(input, select)", (all) =>
                all.map((one) => one.value));
        assert.deepEqual(values, ["page-faults", "period", "7", "", "", "2", "0", "/a", "1"]);
        await view.page.$eval("#profile-cpu", (one) => {
            one.value = "";
            one.dispatchEvent(new Event("change"));
        });
        const written = query(view);
        assert.equal(written.get("zoom"), "a%3Bb;c");
        assert.deepEqual([...written.keys()].sort(), ["by", "cgroup", "event", "period", "pid", "search", "seconds",
                                                      "shape", "zoom"]);
    });
});

test("a link with start=1 focuses Record, starts nothing, and shows what will be recorded", () =>
    session.see("#profile?cgroup=%2F&cpu=0&event=page-faults&seconds=30&start=1", async (view) => {
        await eventsAreListed(view);
        assert.equal((await view.focused()).text, "Record");
        assert.equal(view.asked(/api\/v1\/samples/).length, 0);
        assert.equal(await view.page.$eval(".progress", (one) => one.innerText), "");
        assert.deepEqual(await texts(view, ".options :checked + span b"), ["Faults", "30 s"]);
        assert.deepEqual(await texts(view, ".chip"), ["/", "CPU 0"]);
        await view.sees("Record draws a flame graph", ".guide");
        await view.page.click(".chip");
        assert.deepEqual(await texts(view, ".chip"), ["CPU 0"]);
        assert.deepEqual([query(view).get("cgroup"), query(view).get("start")], [null, null]);
    }));

test("event and duration can be chosen on cards, also with the keyboard; for non-clock events a period is proposed",
     () => session.see("#profile", async (view) => {
        await eventsAreListed(view);
        const chosen = () => texts(view, ".options :checked + span b");
        assert.deepEqual(await chosen(), ["CPU", "10 s"]);
        assert.equal(await view.text(".proposal"), "");
        await view.page.focus(".kinds :checked");
        await view.key("ArrowLeft"); // the selection wraps around to the last card
        assert.deepEqual(await chosen(), ["Switches", "10 s"]);
        assert.match(await view.text(".proposal"), /^(each event is a sample|one sample per [\d,]+ events)$/);
        assert.equal(query(view).get("event"), "context-switches");
        assert.equal(query(view).get("period"), null, "a proposed period is not in the URL");
        await view.page.click(".spans label:last-of-type");
        assert.equal(query(view).get("seconds"), "live");
        await view.press("Record");
        await view.sees(/^\d+ s, until you stop it, /, ".progress");
        const [{ url }] = view.asked(/api\/v1\/samples/);
        assert.match(url, /seconds=3600/);
        assert.match(url, /period=\d+/);
        assert.doesNotMatch(url, /frequency/);
        await view.press("Stop");
        await view.idle();
        assert.deepEqual(await view.findings(), []);
    }));

test("after the opener process has ended, Profile says that nothing can be recorded", async () => {
    const { opener } = await daemon.get("/api/v1/status");

    process.kill(opener.pid, "SIGKILL");
    await eventually("the end of the opener", async () => (await daemon.get("/api/v1/status")).opener.state === "lost");
    await session.see("#profile", (view) => view.sees(/Nothing can be recorded\. The process that opens counters/));
    await daemon.restart();
});

test("the URL contains zoom and search; a link restores both, and the share that matches", () =>
    session.see("#profile?seconds=1&frequency=199", async (view) => {
        await view.record();
        const [list] = await view.frames();
        const target = list.filter(({ kind }) => kind === "process").sort((a, b) => b.width - a.width)[0];
        await view.page.type("main input[type=search]", target.name);
        await view.until("the search in the URL", (name) =>
            new URLSearchParams(location.hash.split("?")[1]).get("search") === name, target.name);
        await view.sees(/matches [\d.]+%/, ".matched");
        await view.page.evaluate((name) => {
            const { flame } = document.querySelector("main canvas");
            flame.zoomBy([...flame.tree.root.children.values()].find((one) => one.name === name));
        }, target.name);
        await view.sees(target.name, ".crumbs");
        const written = query(view);
        assert.equal(written.get("zoom"), target.name);
        await view.go("#health");
        await view.go(`#profile?${written}`);
        await view.sees(target.name, ".crumbs");
        await view.press("all");
        assert.equal(query(view).get("zoom"), null);
        await view.page.click("main tbody button.row");
        await view.sees(/matches [\d.]+%/, ".matched");
        await view.look({ width: 360 });
        await view.fits();
    }));

test("folded stacks and SVG contain what is shown; pprof and perf.data are new recordings", () =>
    session.see("#profile?seconds=1&frequency=199", async (view) => {
        const folder = scratch();
        const debug = await view.page.createCDPSession();
        await debug.send("Browser.setDownloadBehavior", { behavior: "allow", downloadPath: folder });
        await view.record();
        const total = await view.page.$eval("main canvas", (one) => one.flame.tree.total);
        // The browser creates an empty file first, and then replaces it with the download.
        const downloaded = (ending) => eventually(ending, () => {
            const name = readdirSync(folder).find((one) => one.endsWith(ending));
            const content = name && readFileSync(join(folder, name));
            return content?.length > 0 && content;
        });
        const saved = async (title, ending) => {
            await view.press(title);
            return (await downloaded(ending)).toString("utf8");
        };
        const lines = (await saved("Folded stacks", ".folded")).trimEnd().split("\n");
        for (const line of lines)
            assert.match(line, /^[^ ;]+(;[^;]+)* [1-9]\d*$/);
        assert.equal(lines.reduce((sum, line) => sum + Number(line.split(" ").at(-1)), 0), total);
        const svg = await saved("SVG", ".svg");
        const blank = await session.browser.newPage(); // the page's policy would forbid the style inside the SVG
        assert.equal(await blank.evaluate((text) => new DOMParser().parseFromString(text, "image/svg+xml")
            .documentElement.nodeName, svg), "svg");
        await blank.close();
        assert.doesNotMatch(svg, /<script/);
        const head = async (name, n) => {
            await view.page.click(`main a[download="${name}"]`);
            return (await downloaded(name)).subarray(0, n).toString("hex");
        };
        assert.equal(await head("profile.pb.gz", 2), "1f8b");
        assert.equal(await head("perf.data", 8), Buffer.from("PERFILE2").toString("hex"));
    }));
