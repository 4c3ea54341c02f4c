// SPDX-License-Identifier: Apache-2.0
// Checks that a board's page answers its users' questions within three clicks from "/". Services and cores are
// simulated; flame graphs are recorded on this machine, in a cgroup that the test creates.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { mkdirSync, readFileSync, rmdirSync } from "node:fs";
import { after, before, test } from "node:test";
import { Session } from "./browser.mjs";
import { eventually, hierarchy, started } from "./daemon.mjs";
import { SimulatedBoard } from "./simulated.mjs";

const busy = `/perfcountd-page-${randomUUID().slice(0, 8)}.service`;
const possible = process.getuid() === 0 && hierarchy() !== undefined;
const options = { skip: possible ? false : "root, to create cgroups" };
const mostClicks = 3;
let session = null, folder = null, loads = [];

before(async () => {
    session = await Session.open({ config: `
web: {local_operators: true}
sampler: {enabled: true, event: cpu-clock, allow: everybody}
` });
    if (!possible)
        return;
    folder = `${hierarchy()}${busy}`;
    mkdirSync(folder);
    // Starts one load in the cgroup, and one on CPU 1, which belongs to the other cluster of the simulated board.
    loads = [`echo $$ >"${folder}/cgroup.procs"`, "taskset -p -c 1 $$ >/dev/null"].map((first) =>
        started("sh", ["-c", `${first}; while :; do :; done`]));
});
after(async () => {
    await session?.close();
    for (const load of loads)
        load.kill("SIGKILL");
    if (!folder)
        return;
    await eventually("a cgroup without processes", () => readFileSync(`${folder}/cgroup.procs`).length === 0);
    rmdirSync(folder);
});

// Opens "/" as a user does, and counts the clicks. values(now) returns the options of the simulated board; if
// `values` is null, the page shows this machine.
function task(body, values = () => ({})) {
    const start = Math.floor(Date.now() / 1000);
    const names = { unit: "postgresql.service", name: "postgresql" };
    const board = new SimulatedBoard({ n: 2, start, services: { [busy]: [0.9, names],
        "/system.slice/nginx.service": [0.3], "/system.slice/ssh.service": [0.05] }, ...values?.(start) });

    return session.see("#profile", async (tab) => {
        let clicks = 0;
        const click = async (selector) => {
            await tab.until(`something to click: ${selector}`, (selector) =>
                document.querySelector(selector)?.checkVisibility(), selector);
            clicks++;
            await tab.page.click(selector);
        };
        if (values)
            await board.attach(tab);
        await tab.go("", { fresh: true });
        await body(tab, click, start);
        assert.ok(clicks <= mostClicks, `${clicks} clicks`);
    }, { width: 1440, height: 900 });
}

const busyRow = `[data-cgroup="${busy}"]`;
const record = "main button.main:enabled";

// Waits for the end of a recording and returns its frames.
async function recorded(tab) {
    await tab.samples(1);
    await tab.idle();
    const [frames] = await tab.frames();

    return frames;
}

test("the overview shows which service was the busiest in the last hour", () => task(async (tab) => {
    await tab.sees("last hour", ".hero");
    await tab.sees(/^\s*postgresql\s+\d/, ".legend ul");
}));

// The interval in the chart begins a little before the finding.
test("a finding shows when a change began", () => task(async (tab, click, start) => {
    await click(".attention .links a:nth-of-type(2)");
    await tab.sees("in the selected interval", ".busiest");
    const [from, to] = await tab.until("an interval in the URL", () =>
        /from=(\d+)&to=(\d+)/.exec(location.hash)?.slice(1).map(Number));
    assert.ok(from < start - 1500 && to > start - 1500);
    await tab.sees(new RegExp(`since ${await tab.page.evaluate((time) => new Intl.DateTimeFormat(undefined, {
        timeStyle: "short" }).format(new Date(time * 1000)), start - 1500)}`.replace(/\s/g, "\\s")), ".attention");
}, (start) => ({ findings: [{ rule: "service_changed", title: "postgresql: IPC 0.92 to 0.41", text: "Stalls.",
    since: start - 1500, until: null, evidence: "/api/v1/history", cgroup: busy }] })));

test("the flame graph of a service is two clicks away", options, () => task(async (tab, click) => {
    await click(`${busyRow} .action a`);
    await click(record);
    const frames = await recorded(tab);
    assert.ok(frames.some((one) => one.kind === "process" && one.name.startsWith("sh")), JSON.stringify(frames[1]));
    assert.equal(await tab.page.$eval("#profile-cgroup", (one) => one.value), busy);
}));

test("the overview shows whether the IPC of a service is lower than an hour ago", () => task(async (tab, click) => {
    await tab.sees("Compare with an hour ago", ".hero");
    await click(".hero .actions button");
    await tab.sees(/0\.4\d\s+was 0\.92/, busyRow);
    await tab.until("a warning colour", (row) => document.querySelector(`${row} .number.warn`) !== null, busyRow);
}, () => ({ busyFrom: 299, busyFor: 3600 })));

test("the flame graph of a CPU in the other cluster is two clicks away", options, () => task(async (tab, click) => {
    await tab.sees(/^\d+%$/m, '[data-cpu="1"]');
    await click('[data-cpu="1"]');
    await click(record);
    const frames = await recorded(tab);
    assert.ok(frames.some((one) => one.kind === "process" && one.name.startsWith("sh")), JSON.stringify(frames[1]));
    assert.equal(await tab.page.$eval("#profile-cpu", (one) => one.value), "1");
}));

// This task needs no simulation, since no machine provides all metrics.
test("Health shows why a number is missing", () => task(async (tab, click) => {
    await click('#views [data-view="health"]');
    await click("main details summary");
    await tab.sees(/\S+ \S+ .*\S/, "main details[open] li");
}, null));
