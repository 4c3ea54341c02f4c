// SPDX-License-Identifier: Apache-2.0
// The controls of the view of profiles: refusals, the picker, the state in the URL, and downloads.
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import test, { after } from "node:test";
import { eventually, rest, scratch } from "./daemon.mjs";
import { configured, frames, is_recording, open_session, press, record } from "./recordings.mjs";

const session = await open_session();
after(() => session.close());

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

test("without the sampler the view says how to switch it on", () => configured(session, "enabled: false", () =>
    session.see("#profile", async (view) => {
        view.expect(/status of 403/);
        await view.sees(/Set sampler: \{enabled: true\}.*restart/, "main [role=alert]");
        await press(view, "Record");
        await is_recording(view, false);
        await view.sees(/Set sampler: \{enabled: true\}.*restart/, "main [role=alert]");
    })));

test("a client that is not an operator reads how to become one", () => configured(session, "enabled: true", () =>
    session.see("#profile", async (view) => {
        view.expect(/status of 403/);
        await press(view, "Record");
        await view.sees(/for operators: clients with a password.*sampler\.allow: local/, "main [role=alert]");
    })));

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
        const values = await view.page.$$eval("main form :is(input, select)", (all) =>
                all.map((one) => one.value));
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
        await view.until("the search in the URL", (name) =>
            new URLSearchParams(location.hash.split("?")[1]).get("search") === name, target.name);
        await view.sees(/matches [\d.]+%/, ".matched");
        await view.page.evaluate((name) => {
            const { flame } = document.querySelector("main canvas");
            flame.zoomBy([...flame.tree.root.children.values()].find((one) => one.name === name));
        }, target.name);
        await view.sees(target.name, ".crumbs");
        const written = new URLSearchParams(view.page.url().split("?")[1]);
        assert.equal(written.get("zoom"), target.name);
        await view.go("#health");
        await view.go(`#profile?${written}`);
        await view.sees(target.name, ".crumbs");
        await press(view, "all");
        assert.equal(new URLSearchParams(view.page.url().split("?")[1]).get("zoom"), null);
        await view.page.click("main tbody button.row");
        await view.sees(/matches [\d.]+%/, ".matched");
        await view.look({ width: 360 });
        assert.ok(await view.page.evaluate(() => {
            const { scrollWidth, clientWidth } = document.documentElement;
            return scrollWidth <= clientWidth;
        }), "the page has no horizontal scrollbar");
    }));

test("folded stacks and SVG are of what is shown; pprof and perf.data record again", () =>
    session.see("#profile?seconds=1&frequency=199", async (view) => {
        const folder = scratch();
        const debug = await view.page.createCDPSession();
        await debug.send("Browser.setDownloadBehavior", { behavior: "allow", downloadPath: folder });
        await record(view);
        const total = await view.page.$eval("main canvas", (one) => one.flame.tree.total);
        // The browser makes an empty file first, which the download then replaces.
        const downloaded = (ending) => eventually(ending, () => {
            const name = readdirSync(folder).find((one) => one.endsWith(ending));
            const content = name && readFileSync(join(folder, name));
            return content?.length > 0 && content;
        });
        const saved = async (title, ending) => {
            await press(view, title);
            return (await downloaded(ending)).toString("utf8");
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
            return (await downloaded(name)).subarray(0, n).toString("hex");
        };
        assert.equal(await head("profile.pb.gz", 2), "1f8b");
        assert.equal(await head("perf.data", 8), Buffer.from("PERFILE2").toString("hex"));
    }));
