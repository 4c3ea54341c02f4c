// SPDX-License-Identifier: Apache-2.0
// The view of profiles: recordings of this machine, and of a program whose profile is known.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { Session, root } from "./browser.mjs";
import { eventually, rest, scratch, started } from "./daemon.mjs";

const sampler = "enabled: true, allow: local, event: cpu-clock, max_clients: 2";
const config = (words) => `sampler: {${words}}\n`;
const niced = process.getuid() === 0 ? ["nice", "-n", "-10"] : [];
const programs = scratch();
let session, idle, hot;

// tests/e2e/hot.c, under a name of its own.
function build_hot() {
    hot = join(programs, `hot${process.pid}`);
    execFileSync(process.env.CC ?? "cc", ["-O1", "-fno-omit-frame-pointer", "-o", hot, join(root, "tests/e2e/hot.c")]);
}

// Runs it until the body ends. Returns what that returned, and the share of hot_seventy() by its own clock.
async function with_hot(body) {
    const [command, ...words] = [...niced, hot, "100"];
    const child = started(command, words);
    let said = "";

    child.stdout.on("data", (text) => said += text);
    await eventually("the program", () => /^hot \d+\n/.test(said));
    const pid = Number(said.split(/\s/)[1]);
    const found = await body(pid);
    const ended = new Promise((resolve) => child.once("close", resolve));
    process.kill(pid, "SIGTERM");
    await ended;
    const ns = (name) => Number(new RegExp(`(\\d+) ${name}`).exec(said)[1]);
    const seventy = ns("hot_seventy"), thirty = ns("hot_thirty");

    return { found, truth: seventy / (seventy + thirty), cpu_seconds: (seventy + thirty) / 1e9 };
}

const press = (view, text) => view.page.evaluate((text) => {
    [...document.querySelectorAll("main button")]
        .find((one) => one.offsetParent && one.innerText === text && !one.disabled)
        .click();
}, text);
const is_recording = (view, wanted) => view.until(`recording: ${wanted}`, (wanted) =>
    document.querySelector("form.controls button.main").disabled === wanted, wanted);
const samples = (view, least) => view.until(`${least} samples`, (least) =>
    Number(/([\d,]+) samples?/.exec(document.querySelector(".progress").innerText)?.[1].replace(/,/g, "")) >= least, least);

// Records to the end.
async function record(view, seconds = 1) {
    await press(view, "Record");
    await is_recording(view, true);
    await rest(seconds * 1000);
    await is_recording(view, false);
}

// The names of a program come to the daemon a moment after the first stream that it is in.
const knows = (view, pid) => view.until("names of functions", async (pid) =>
    (await (await fetch(`api/v1/samples?seconds=0.3&frequency=199&pid=${pid}`)).text()).includes("hot_seventy"), pid);

// The frames of the graphs that are shown, a list for each.
const frames = (view) => view.page.evaluate(async () => {
    await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
    return [...document.querySelectorAll("main canvas")].filter((one) => one.offsetParent)
        .map((one) => one.flame.frames());
});
const widest = (list, name) => Math.max(0, ...list.filter((one) => one.name === name).map((one) => one.width));
const select = (view, name, value) => view.page.select(`main select[name=${name}]`, value);
const texts = (view, selector) => view.page.$$eval(selector, (all) => all.map((one) => one.innerText));
const is_idle = () => session.daemon.events() === idle && session.daemon.rings() === 0;

// The daemon with another configuration, for one test.
async function configured(words, body) {
    await session.daemon.stop();
    session.daemon.configure(config(words));
    await session.daemon.again();
    try {
        await body();
    } finally {
        await session.daemon.stop();
        session.daemon.configure(config(sampler));
        await session.daemon.again();
    }
}

// The lengths of the runs of one colour in a row of pixels of a screenshot, the longest first.
async function runs(view, y) {
    const canvas = await view.page.evaluateHandle(() =>
        [...document.querySelectorAll("main canvas")].find((one) => one.offsetParent));
    const picture = await canvas.screenshot({ encoding: "base64" });

    return view.page.evaluate(async (picture, y) => {
        const image = new Image();
        image.src = `data:image/png;base64,${picture}`;
        await image.decode();
        const copy = document.createElement("canvas"), found = [];
        Object.assign(copy, { width: image.width, height: image.height });
        const context = copy.getContext("2d");
        context.drawImage(image, 0, 0);
        const { data } = context.getImageData(0, y, image.width, 1);
        const pixels = new Uint32Array(data.buffer);
        for (let from = 0, x = 1; x <= pixels.length; x++)
            if (pixels[x] !== pixels[from]) {
                found.push(x - from);
                from = x;
            }
        return found.sort((a, b) => b - a);
    }, picture, y);
}

before(async () => {
    build_hot();
    session = await Session.open({ config: config(sampler) });
    idle = session.daemon.events();
});
after(() => session?.close());

describe("a program whose profile is known", () => {
    // As many samples as tests/e2e/lib.sh wants: five standard deviations are 3 points.
    test("its functions are as wide as their time, in the model and on the screen", () => session.see("#profile",
        async (view) => {
            const { found, truth } = await with_hot(async (pid) => {
                const seconds = Math.min(30, Math.ceil(5830 * 1.5 / 1999 / await cpu_share(pid)));
                await view.go(`#profile?pid=${pid}&frequency=1999&seconds=${seconds}&by=merged`);
                await knows(view, pid);
                await record(view, seconds);
                const [list] = await frames(view);
                const of = (name) => list.filter((one) => one.name === name).sort((a, b) => b.width - a.width)[0];
                return { seventy: of("hot_seventy"), thirty: of("hot_thirty"), about: await view.text(".panel .quiet"),
                         hottest: (await texts(view, "main tbody th"))[0],
                         runs: await runs(view, Math.round(of("hot_seventy").y) + 2) };
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
        await with_hot(async (pid) => {
            await knows(view, pid);
            await record(view);
        });
        await press(view, "Keep as A");
        await record(view);
        const [a, b] = await frames(view);
        assert.ok(widest(a, "hot_seventy") > 20, "A has the program");
        assert.equal(widest(b, "hot_seventy"), 0, "B does not have it");
        await select(view, "compare", "difference");
        const graphs = await frames(view);
        assert.equal(graphs.length, 1);
        const gone = await view.page.evaluate(() => {
            const canvas = [...document.querySelectorAll("main canvas")].find((one) => one.offsetParent);
            return [...canvas.flame.tree.nodes()].filter((one) => one.name === "hot_seventy")
                .map(({ before, after }) => ({ before, after }));
        });
        assert.ok(gone.some(({ before, after }) => before > 0.05 && after === 0), JSON.stringify(gone));
        const row = (await texts(view, "main tbody tr")).find((one) => one.startsWith("hot_seventy"));
        assert.match(row, /0%.*−?-?[\d.]+ points/s, "the table has the shares of both");
        await press(view, "Forget A");
        assert.equal((await frames(view)).length, 1);
    }));
});

async function cpu_share(pid) {
    const ticks = () => Number(readFileSync(`/proc/${pid}/stat`, "latin1").split(") ")[1].split(" ")[11]);
    const begin = ticks();

    await rest(1000);
    return Math.max(0.1, (ticks() - begin) / 100);
}

describe("a recording", () => {
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
});

describe("what cannot be recorded", () => {
    const refused = (hash, control, pattern) => test(`${hash} is said at ${control}`, () =>
        session.see(hash, async (view) => {
            view.expect(/status of 40[034]/);
            await press(view, "Record");
            await view.sees(pattern, `#profile-${control}-fault`);
            const focus = await view.focused();
            assert.equal(focus.id, `profile-${control}`);
            assert.equal(await view.page.$eval(`#${focus.id}`, (one) => one.getAttribute("aria-invalid")), "true");
        }));

    refused("#profile?event=nosuch", "event", /there is no event "nosuch"/);
    refused("#profile?event=sched:sched_switch", "event", /sampler\.tracepoints/);
    refused("#profile?event=%3Cimg%20src%3Dx%20onerror%3Dalert(1)%3E", "event", /an event is missing before "<"/);
    refused("#profile?cpu=999", "cpu", /there is no CPU 999/);
    refused("#profile?pid=x", "pid", /expected a whole number/);
    refused("#profile?cgroup=/nosuch", "cgroup", /there is no cgroup \/nosuch/);
    refused("#profile?period=x", "rate", /expected a whole number/);
    refused("#profile?seconds=-1", "seconds", /expected a number/);

    test("without the sampler the view says how to switch it on", () => configured("enabled: false", () =>
        session.see("#profile", async (view) => {
            view.expect(/status of 403/);
            await view.sees(/Set sampler: \{enabled: true\}.*restart/, "main [role=alert]");
            await press(view, "Record");
            await is_recording(view, false);
            await view.sees(/Set sampler: \{enabled: true\}.*restart/, "main [role=alert]");
        })));

    test("who is not an operator reads how to become one", () => configured("enabled: true", () =>
        session.see("#profile", async (view) => {
            view.expect(/status of 403/);
            await press(view, "Record");
            await view.sees(/for operators: clients with a password.*sampler\.allow: local/, "main [role=alert]");
        })));
});

describe("the controls", () => {
    test("an event is found by the keyboard", () => session.see("#profile?seconds=0.3", async (view) => {
        await view.until("events", () => document.querySelector("#profile-event").placeholder !== "");
        await view.page.focus("#profile-event");
        await view.key("ArrowDown", "ArrowDown");
        assert.equal(await active(view), "cpu-clock", "the first choice");
        await view.key("Escape");
        assert.equal(await view.page.$eval("#profile-event", (one) => one.getAttribute("aria-expanded")), "false");
        await view.page.keyboard.type("context sw");
        await view.key("ArrowDown", "Enter");
        assert.equal(await view.page.$eval("#profile-event", (one) => one.value), "context-switches");
        assert.match(view.page.url(), /event=context-switches/);
        await view.key("Enter");
        await view.sees(/context-switches at 99 Hz, \d s/);
        assert.deepEqual(await view.findings(), []);
    }));

    const active = (view) => view.page.$eval("#profile-event", (one) =>
        document.getElementById(one.getAttribute("aria-activedescendant"))?.querySelector(".name").innerText);

    test("thousands of events are searched at once", () => session.see("#profile", async (view) => {
        await view.until("events", () => document.querySelector("#profile-event").placeholder !== "");
        const ms = await view.page.evaluate(() => {
            const input = document.querySelector("#profile-event"), begin = performance.now();

            for (const text of ["s", "sc", "sch", "sche", "sched"]) {
                input.value = text;
                input.dispatchEvent(new Event("input", { bubbles: true }));
            }
            return (performance.now() - begin) / 5;
        });
        assert.ok(ms < 50, `${ms} ms for a key`);
        assert.match(await view.text(".events [role=status]"), /events?\./);
    }));

    test("a link fills them and starts nothing", () => {
        const state = "event=page-faults&period=7&seconds=2&cpu=0&cgroup=%2Fa&pid=1&search=main&zoom=a%253Bb;c&by=merged" +
            "&shape=flame";
        return session.see(`#profile?record=1&${state}`, async (view) => {
            await rest(500);
            assert.equal(view.asked(/api\/v1\/samples/).length, 0);
            const values = await view.page.$$eval("main form input, main form select", (all) => all.map((one) => one.value));
            assert.deepEqual(values, ["page-faults", "period", "7", "2", "0", "/a", "1"]);
            await view.page.$eval("#profile-cpu", (one) => {
                one.value = "";
                one.dispatchEvent(new Event("change"));
            });
            const written = new URLSearchParams(view.page.url().split("?")[1]);
            assert.equal(written.get("zoom"), "a%3Bb;c");
            assert.deepEqual([...written.keys()].sort(), ["by", "cgroup", "event", "period", "pid", "search", "seconds",
                                                          "shape", "zoom"]);
        });
    });

    test("zoom, search and their share are in the URL, and come back", () =>
        session.see("#profile?seconds=1&frequency=199", async (view) => {
            await record(view);
            const [list] = await frames(view);
            const target = list.filter(({ kind }) => kind === "process").sort((a, b) => b.width - a.width)[0];
            await view.page.type("main input[type=search]", target.name);
            await view.sees(/matches [\d.]+%/, ".matched");
            await view.page.evaluate((name) => {
                const { flame } = document.querySelector("main canvas");
                flame.zoomBy([...flame.tree.root.children.values()].find((one) => one.name === name));
            }, target.name);
            await view.sees(target.name, ".crumbs");
            const written = new URLSearchParams(view.page.url().split("?")[1]);
            assert.equal(written.get("search"), target.name);
            assert.equal(written.get("zoom"), target.name);
            await view.go("#health");
            await view.go(`#profile?${written}`);
            await view.sees(target.name, ".crumbs");
            await press(view, "all");
            assert.equal(new URLSearchParams(view.page.url().split("?")[1]).get("zoom"), null);
            await view.page.click("main tbody button.row");
            await view.sees(/matches [\d.]+%/, ".matched");
            await view.look({ width: 360 });
            assert.ok(await view.overflow() <= 0);
        }));
});

describe("downloads", () => {
    test("folded stacks and SVG are of what is shown; pprof and perf.data record anew", () =>
        session.see("#profile?seconds=1&frequency=199", async (view) => {
            const folder = scratch();
            const debug = await view.page.createCDPSession();
            await debug.send("Browser.setDownloadBehavior", { behavior: "allow", downloadPath: folder });
            await record(view);
            const total = await view.page.$eval("main canvas", (one) => one.flame.tree.total);
            const saved = async (title, ending) => {
                await press(view, title);
                const name = await eventually(ending, () => readdirSync(folder).find((one) => one.endsWith(ending)));
                return readFileSync(join(folder, name), "utf8");
            };
            const lines = (await saved("Folded stacks", ".folded")).trimEnd().split("\n");
            for (const line of lines)
                assert.match(line, /^[^ ;]+(;[^;]+)* [1-9]\d*$/);
            assert.equal(lines.reduce((sum, line) => sum + Number(line.split(" ").at(-1)), 0), total);
            const svg = await saved("SVG", ".svg");
            assert.equal(await view.page.evaluate((text) => new DOMParser().parseFromString(text, "image/svg+xml")
                .documentElement.nodeName, svg), "svg");
            assert.doesNotMatch(svg, /<script/);
            const head = async (name, n) => {
                await view.page.click(`main a[download="${name}"]`);
                await eventually(name, () => readdirSync(folder).includes(name));
                return readFileSync(join(folder, name)).subarray(0, n).toString("hex");
            };
            assert.equal(await head("profile.pb.gz", 2), "1f8b");
            assert.equal(await head("perf.data", 8), Buffer.from("PERFILE2").toString("hex"));
        }));
});
