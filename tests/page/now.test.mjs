// SPDX-License-Identifier: Apache-2.0
// The view Now: numbers, lines by both versions of Chart.js, pauses, a reload, its state in the URL.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test, { after } from "node:test";
import { Session, modules } from "./browser.mjs";
import { started } from "./daemon.mjs";

const config = `
web: {local_operators: true, min_interval: 0s}
collectors:
  cpu: {groups: [{preset: overview}, {name: software, events: "{context-switches,minor-faults}"}]}
  cgroup: {enabled: false}
`;
const session = await Session.open({ config });
after(() => session.close());
const { daemon } = session;
const hasPmu = (await daemon.get("/api/v1/pmus")).pmus.some((pmu) => pmu.scope === "core" && !pmu.absent);

// Waits until the first line has `n` values.
function moments(view, n) {
    return view.until(`${n} values of a line`, (n) => {
        const { line } = document.querySelector(".line") ?? {};
        return line && line.history.points(line.name).filter((point) => !Number.isNaN(point.y)).length >= n;
    }, n);
}

// Waits until a canvas has pixels of the line's colour.
function line(view) {
    return view.until("a line that is drawn", () => [...document.querySelectorAll(".tile .line canvas")]
        .filter((canvas) => canvas.width > 0 && canvas.height > 0).some((canvas) => {
        const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext("2d", { willReadFrequently: true });

        copy.fillStyle = getComputedStyle(canvas).getPropertyValue("--accent").trim();
        copy.fillRect(0, 0, 1, 1);
        const [r, g, b] = copy.getImageData(0, 0, 1, 1).data;
        copy.clearRect(0, 0, 1, 1);
        copy.drawImage(canvas, 0, 0);
        const { data } = copy.getImageData(0, 0, canvas.width, canvas.height);
        let n = 0;
        for (let i = 0; i < data.length; i += 4)
            n += data[i + 3] > 100 &&
                Math.abs(data[i] - r) + Math.abs(data[i + 1] - g) + Math.abs(data[i + 2] - b) < 60;
        return n > 10;
    }));
}

// Answers the page's request for Chart.js by another answer than the daemon's.
async function withLibrary(view, answer) {
    await view.page.setRequestInterception(true);
    view.page.on("request", (request) =>
        new URL(request.url()).pathname.endsWith("/page/chart.js") ? request.respond(answer) : request.continue());
    await view.go("#now", { fresh: true });
}

test("a CPU that is kept busy is seen to be busy, and what there is not is said", async () => {
    const spin = started("taskset", ["-c", "0", "sh", "-c", "while :; do :; done"]);

    await session.see("#now", async (view) => {
        await moments(view, 2);
        await view.until("CPU 0 used more than 80 %", () =>
            parseFloat(document.querySelector('[data-cpu="0"] [data-name="used"] .value').innerText) > 80);
        assert.match(await view.text('[data-pmu="software"] [data-name="context_switches"] .value'),
                     /^[\d.,]+ [kM]?\/s$/);
        assert.equal(await view.text('[data-pmu="software"] [data-name="context_switches"] .share'),
                     "counted 100%");
        if (hasPmu)
            await view.sees(/IPC/, ".tile");
        else
            await view.sees(/There are no cycles.*this machine offers no hardware PMU/, ".card p");
        assert.match(await view.page.$eval('[data-cpu="0"] .line', (one) => one.getAttribute("aria-label")),
                     /^Utilisation, CPU 0: last \d.*%, lowest .*, highest .* in the last 5 minutes$/);
    });
    spin.kill("SIGKILL");
});

test("lines are drawn, in the colours of the day and of the night", async () => {
    await session.see("#now", async (view) => {
        await line(view);
        await view.look({ dark: true });
        await line(view);
    });
});

test("Chart.js 2.9, as Debian 11 has it, draws them as well", async () => {
    await session.see("#health", async (view) => {
        await withLibrary(view, { contentType: "text/javascript",
                                  body: readFileSync(modules.resolve("chart.js/dist/Chart.min.js")) });
        await line(view);
        assert.equal(await view.page.evaluate(() => globalThis.Chart.platform.disableCSSInjection), true);
        await view.page.click('[data-name="used"] button');
        await view.until("a large line", () => document.querySelector(".line.large canvas") !== null);
        await view.fits();
    });
});

test("built without the library, the page says so once, and has the numbers", async () => {
    await session.see("#health", async (view) => {
        view.expect(/404|chart\.js/);
        await withLibrary(view, { status: 404, body: "" });
        await view.sees("perfcountd was built without Chart.js");
        await view.sees(/\d ?%/, '[data-name="used"] .value');
        assert.equal((await view.text()).split("built without").length, 2);
    });
});

test("the URL has what is open; Back and a link bring it again", async () => {
    await session.see("#now", async (view) => {
        await view.sees(/\d/, '[data-name="context_switches"] .value');
        await view.page.click('[data-pmu="software"] [data-name="context_switches"] button');
        await view.sees("Context switches, CPU", ".detail h4");
        await view.page.click('details.closed summary');
        await view.until("the URL", () =>
            /^#now\?pmu=software&metric=context_switches&closed=\w+$/.test(location.hash));
        assert.equal((await view.focused()).tag, "summary");
    });
    await session.see("#now?pmu=software&metric=minor_faults&closed=cpu", async (view) => {
        await view.sees("Minor faults, CPU", ".detail h4");
        await view.page.focus('[data-name="minor_faults"] button');
        if (!hasPmu)
            assert.equal(await view.page.$eval("details.closed", (one) => one.open), false);
        await moments(view, 3); // numbers are written in place: what has the focus keeps it
        assert.equal((await view.focused()).text, "Minor faults");
        await view.key("Enter");
        await view.until("no detail", () => !document.querySelector(".detail"));
        assert.ok((await view.page.url()).endsWith("#now?closed=cpu"));
    });
});

test("a pause says so, and is neither zero nor an old number", async () => {
    await session.see("#now", async (view) => {
        await view.sees(/\d/, '[data-name="context_switches"] .value');
        await daemon.get("/api/v1/pause?seconds=60", { method: "POST" });
        await view.sees(/Counting is paused until .*: for \d+ s more there are no numbers of events\./);
        await view.until("no number", () =>
            document.querySelector('[data-name="context_switches"] .value').textContent === "–");
        await view.sees(/\d/, '[data-name="used"] .value');
        await daemon.get("/api/v1/pause", { method: "DELETE" });
        await view.until("a number", () =>
            /\d/.test(document.querySelector('[data-name="context_switches"] .value').textContent));
        await view.until("no banner", () => !document.body.innerText.includes("Counting is paused"));
    });
});

test("a reload that counts something else shows it, without loading the page again", async () => {
    await session.see("#now", async (view) => {
        await view.sees(/\d/, '[data-name="context_switches"] .value');
        await daemon.reload(config.replace("minor-faults", "minor-faults,alignment-faults"));
        await view.sees("Alignment faults", '[data-pmu="software"]');
        await daemon.reload(config);
    });
});

test("what was kept of the lines is there again when the view is", async () => {
    await session.see("#now?pmu=software&metric=minor_faults", async (view) => {
        await moments(view, 3);
        await view.go("#health");
        await view.go("#now?pmu=software&metric=minor_faults");
        await view.until("a line", () => document.querySelector(".line")?.line !== undefined);
        assert.ok(await view.page.evaluate(() => {
            const { history, name } = document.querySelector(".line").line;
            return history.points(name).length >= 3;
        }), "the values before are kept");
        for (const width of [360, 3840]) {
            await view.look({ width });
            await view.fits();
        }
    });
});
