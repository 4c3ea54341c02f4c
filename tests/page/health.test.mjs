// SPDX-License-Identifier: Apache-2.0
// Tests the Health view: findings, the operator's controls, and a daemon that hangs, stops or is replaced.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { chmodSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import test, { after } from "node:test";
import { Session } from "./browser.mjs";
import { eventually, scratch } from "./daemon.mjs";

const config = `
web: {local_operators: true, min_interval: 0s}
sampler: {enabled: true, event: cpu-clock}
collectors:
  cpu: {groups: [{name: faults, events: "{minor-faults}"}, {name: missing, events: "no_such_pmu/event=1/"}]}
  cgroup: {enabled: false}
  self: {enabled: false}
`;
const session = await Session.open({ config });
after(() => session.close());
const { daemon } = session;
const refusedOrGone = /ERR_|status of|NetworkError|Failed to load/;

const counting = (view) => view.sees("Counting.", ".operations .state");

test("Health shows what is not counted, why, and how to fix it; and the cost of the daemon", async () => {
    await session.see("#health", async (view) => {
        const { failures, processes } = await daemon.get("/api/v1/status");
        const [{ message }] = failures;

        assert.ok(failures.length > 0);
        await view.sees("One thing needs attention.", "#verdict");
        await view.sees(message.slice(1), ".findings");
        await view.sees(/cpu: event_1 of no_such_pmu.*, group missing/, ".findings");
        for (const { process } of processes)
            await view.sees(new RegExp(`${process}\\s+\\d[\\d.,]*\\s?%\\s+[\\d.,]+ MiB`), ".cost");
        await view.sees("CPU of all processes, last 5 minutes", ".cost");
        await view.until("the line of CPU time", () => document.querySelector(".cost .line canvas") !== null ||
            document.documentElement.classList.contains("no-lines"));
        await view.sees(`${daemon.folder}/perfcountd.yaml`, ".facts");
        await view.sees(/Collector cpu\s+works/, ".facts");
    });
});

test("documents are fetched when they are expanded, and the URL lists the expanded ones", async () => {
    await session.see("#health", async (view) => {
        await view.sees("attention", "#verdict");
        assert.deepEqual(view.asked(/metrics|config$/), []);
        await view.page.click("summary");
        await view.sees(/ipc, ipc_user/, "details");
        assert.match(view.page.url(), /#health\?open=metrics$/);
    });
    await session.see("#health?open=config", async (view) => {
        await view.sees(/^web:\n  listen:\n    - "127\.0\.0\.1:\d+"$/m, "details pre");
        await view.sees("  local_operators: true", "details pre");
        // Checks that the daemon accepts the configuration that is shown.
        const folder = scratch(), file = join(folder, "shown.yaml");
        writeFileSync(file, await view.text("details pre"));
        execFileSync(process.env.PERFCOUNTD, ["check-config", `--config.file=${file}`], { stdio: "ignore" });
    });
});

test("a pause needs a confirmation, counts down, and can be ended early", async () => {
    await session.see("#health", async (view) => {
        await counting(view);
        await view.press("Pause…");
        assert.equal((await view.focused()).text, "Pause now");
        assert.match(await view.text(".confirmation"), /^For 1 min 0 s nothing is counted for any client/);
        await view.key("Escape");
        assert.equal((await view.focused()).text, "Pause…");
        assert.equal((await daemon.get("/api/v1/pause")).paused, false);
        await view.page.$eval(".operations input", (input) => { input.value = "59"; });
        await view.press("Pause…");
        await view.key("Enter");
        await view.sees(/^Paused: \d+ s left\.$/, ".operations .state");
        assert.equal((await daemon.get("/api/v1/pause")).paused, true);
        const first = await view.text(".operations .state");
        await eventually("a countdown", async () => await view.text(".operations .state") !== first);
        assert.match(await view.text("#verdict"), /Counting is paused/);
        await view.press("Resume counting");
        await counting(view);
        assert.equal((await daemon.get("/api/v1/pause")).paused, false);
    });
});

test("a pause by another client is shown, and so is its end", async () => {
    await session.see("#health", async (view) => {
        await counting(view);
        await daemon.get("/api/v1/pause?seconds=600", { method: "POST" });
        await view.sees(/^Paused: \d+ min \d+ s left\.$/, ".operations .state");
        await daemon.get("/api/v1/pause", { method: "DELETE" });
        await counting(view);
    });
});

test("after a reload, the page shows the whole error message, or that the reload succeeded", async () => {
    await session.see("#health", async (view) => {
        view.expect(refusedOrGone);
        await view.sees("attention", "#verdict");
        daemon.configure("web: {listn: []}");
        await view.press("Reload the configuration");
        await view.sees(`${daemon.folder}/perfcountd.yaml:1:7: `, ".operations .result");
        await view.sees("The last reload failed: the previous configuration stays in effect", ".findings");
        daemon.configure(config);
        await view.press("Reload the configuration");
        await view.sees("The configuration was reloaded.", ".operations .result");
        await view.until("no finding about a failed reload", () => !document.querySelector(".finding.bad"));
    });
});

test("a client that is not an operator sees disabled buttons, and is told how to become one", async () => {
    await daemon.reload(config.replace("local_operators: true", "local_operators: false"));
    await session.see("#health", async (view) => {
        await view.sees(/^You may not pause and reload: only operators may do this: clients with a password/,
            ".operations .refusal");
        assert.deepEqual(await view.page.$$eval(".operations button, .operations input",
            (all) => all.filter((one) => one.checkVisibility() && !one.disabled).map((one) => one.textContent)), []);
    });
    daemon.configure(config); // a client that is not an operator cannot reload over HTTP
    daemon.child.kill("SIGHUP");
    await eventually("permission for operators", async () => !(await daemon.get("/api/v1/pause")).refusal);
});

// --- errors

test("the page reports a daemon that hangs, and recovers when the daemon answers again", async () => {
    await session.see("#health", async (view) => {
        await view.sees("attention", "#verdict");
        daemon.child.kill("SIGSTOP");
        try {
            await view.sees("The daemon did not answer in time.", "#fault");
        } finally {
            daemon.child.kill("SIGCONT");
        }
        await view.until("a hidden error line", () => document.getElementById("fault").hidden);
    });
});

test("while the daemon is stopped the numbers are dimmed and show their age", async () => {
    await session.see("#health", async (view) => {
        view.expect(refusedOrGone);
        await view.sees("attention", "#verdict");
        await daemon.stop("SIGKILL");
        await view.sees(/These numbers are \d+ s old: no answer has arrived since\./, ".age");
        assert.ok(await view.page.$eval(".cost", (one) => one.classList.contains("old")));
        assert.deepEqual(await view.findings(), []);
        await daemon.again();
        await view.until("new numbers", () => !document.querySelector(".cost").classList.contains("old"));
    });
});

test("a partially loaded page shows an error instead of staying blank", async () => {
    await daemon.reload(config.replace("web: {", "web: {limits: {connections_per_address: 3}, "));
    const tab = await session.browser.newPage();
    try {
        await tab.goto(`${session.url}/#health`);
        await eventually("an error message", () => tab.evaluate(() =>
            document.getElementById("views").childElementCount > 0 ||
            document.getElementById("fault").innerText.includes("The page could not be loaded completely")));
    } finally {
        await tab.close();
        await daemon.reload(config);
    }
});

test("a page whose first script fails to load shows an error", async () => {
    const tab = await session.browser.newPage();
    try {
        await tab.setRequestInterception(true);
        tab.on("request", (request) => request.url().endsWith("/boot.js") ? request.abort() : request.continue());
        await tab.goto(`${session.url}/#health`);
        await eventually("an error message", () => tab.evaluate(() =>
            document.getElementById("fault").innerText.includes("The page could not be loaded completely")));
    } finally {
        await tab.close();
    }
});

test("the page notices a daemon of another version, and reloads only at the user's request", async () => {
    const binary = process.env.PERFCOUNTD;
    const { version } = await daemon.get("/api/v1/status");
    const other = version.replace(/\d$/, (digit) => (Number(digit) + 1) % 10);
    const copy = join(scratch(), "perfcountd");

    chmodSync(join(copy, ".."), 0o755);
    writeFileSync(copy, Buffer.from(readFileSync(binary, "latin1").replaceAll(`${version}\0`, `${other}\0`), "latin1"),
        { mode: 0o755 });
    await session.see("#health", async (view) => {
        view.expect(refusedOrGone);
        await view.sees("attention", "#verdict");
        await daemon.stop();
        process.env.PERFCOUNTD = copy;
        try {
            await daemon.again();
        } finally {
            process.env.PERFCOUNTD = binary;
        }
        await view.sees(`The daemon now has version ${other}, but this page has version ${version}.`, "#fault");
        await view.sees(other, ".facts");
        await view.press("Load the page again", "body");
        await view.until("the new version", (other) => document.querySelector(".facts")?.innerText.includes(other) &&
            document.getElementById("fault").hidden, other);
        await daemon.restart();
    });
});
