// SPDX-License-Identifier: Apache-2.0
// Tests the overview of this machine, with and without a history, and of a simulated board with services and an hour of
// history.
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import test, { after } from "node:test";
import { Session } from "./browser.mjs";
import { scratch, started } from "./daemon.mjs";
import { SimulatedBoard } from "./simulated.mjs";

const config = `
web: {local_operators: true, min_interval: 0s}
history: {interval: 1s}
collectors:
  cpu: {groups: [{preset: overview}, {name: software, events: "{context-switches,minor-faults}"}]}
  cgroup: {enabled: false}
`;
const session = await Session.open({ config });
after(() => session.close());
const { daemon } = session;
const hasPmu = (await daemon.get("/api/v1/pmus")).pmus.some((pmu) => pmu.scope === "core" && !pmu.absent);

// --- this machine

// Waits until a canvas contains pixels of the line's colour.
function line(tab) {
    return tab.until("a drawn line", () => [...document.querySelectorAll(".tile .line canvas")]
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
        return n > 5;
    }));
}

test("a busy CPU is shown as busy, and a missing PMU is mentioned once", async () => {
    const spin = started("taskset", ["-c", "0", "sh", "-c", "while :; do :; done"]);

    await session.see("", async (tab) => {
        await tab.until("CPU 0 above 80 %", () =>
            parseFloat(document.querySelector('[data-cpu="0"] span')?.innerText) > 80);
        await tab.sees(/^[\d.,]+ [kM]?\/s$/m, '[data-name="context_switches"] .value');
        if (hasPmu)
            await tab.sees(/IPC/, ".tile");
        else
            assert.equal((await tab.text()).match(/PMU/g).length, 1);
        await tab.until("the line's label", () =>
            /^Context switches: last .*, lowest .*, highest .* in the last \d+ minutes$/.test(
                document.querySelector('[data-name="context_switches"] .line')?.getAttribute("aria-label")));
    });
    spin.kill("SIGKILL");
});

test("lines are drawn in the colours of the light and the dark theme", async () => {
    await session.see("#overview?range=5min", async (tab) => {
        await line(tab);
        await tab.look({ dark: true });
        await line(tab);
    });
});

test("a line shows its value at the pointer", async () => {
    await session.see("#health", async (tab) => {
        await tab.until("two values", () => document.querySelector(".line")?.line.source.points("cpu")
            .filter(({ y }) => Number.isFinite(y)).length >= 2);
        const [x, y] = await tab.page.$eval(".line", (one) => {
            const { right, top } = one.getBoundingClientRect();
            return [right - 4, top + 5];
        });
        await tab.page.mouse.move(x, y);
        await tab.sees(/^[\d: APM]+: [\d.]+%$/m, ".tip");
        await tab.page.mouse.move(5, 5);
        await tab.until("no marker", () => document.querySelector(".cursor").hidden);
    });
});

test("a pause is announced, and the tiles show neither zero nor a stale number during it", async () => {
    await session.see("#overview?range=5min", async (tab) => {
        const value = '[data-name="context_switches"] .value';

        await tab.sees(/\d/, value);
        await daemon.get("/api/v1/pause?seconds=60", { method: "POST" });
        await tab.sees(/Counting is paused until .*: for \d+ s more no events are counted\./);
        await tab.until("no number", (value) => document.querySelector(value).textContent.trim() === "–", value);
        await tab.sees(/\d/, '[data-name="used"] .value');
        await daemon.get("/api/v1/pause", { method: "DELETE" });
        await tab.sees(/\d/, value);
        await tab.until("no note about a pause", () => !document.body.innerText.includes("Counting is paused"));
    });
});

test("an event that a configuration reload adds is shown without reloading the page", async () => {
    await session.see("#overview?range=5min", async (tab) => {
        await tab.sees(/\d/, '[data-name="context_switches"] .value');
        await daemon.reload(config.replace("minor-faults", "minor-faults,alignment-faults"));
        await tab.sees("Alignment faults", ".tile");
        await daemon.reload(config);
    });
});

test("without a history, the page shows live numbers and how to enable the history", async () => {
    await daemon.restart(config.replace("interval: 1s", "enabled: false"));
    await session.see("#overview", async (tab) => {
        tab.expect(/status of 404/);
        await tab.sees(/set history.enabled in the configuration/, ".note");
        await tab.sees(/\d/, '[data-name="context_switches"] .value');
        await tab.sees("Cgroups are not counted", ".busiest");
        await tab.sees(/^in use\s+[\d.]+ of \d+$/m, ".legend ul");
        assert.equal((await tab.text(".legend ul")).match(/in use/g).length, 1);
        assert.equal(await tab.page.$$eval(".legend .swatch", (all) => all.length), 1);
        const disabled = await tab.page.$$eval(".segments button", (all) => all.map((one) => one.disabled));
        assert.deepEqual(disabled, [false, true]);
        await tab.fits();
    });
    await daemon.restart(config);
});

// --- a simulated board

const services = { "/system.slice/postgresql.service": [3, { unit: "postgresql.service", name: "postgresql" }],
    "/lxc.payload.frigate": [1.2, { container: "frigate", name: "frigate" }],
    "/system.slice/homeassistant.service": [0.5], "/system.slice/nginx.service": [0.3],
    "/system.slice/mosquitto.service": [0.2], "/system.slice/ssh.service": [0.05],
    "/system.slice/cron.service": [0.02] };

// Opens the overview of a simulated machine.
function board(hash, body, { look = {}, ...options } = {}) {
    const board = new SimulatedBoard({ services, ...options });

    return session.see("#profile", async (tab) => {
        await board.attach(tab);
        await tab.go(hash, { fresh: true });
        await tab.sees(/\d/, ".legend b");
        await tab.sees(/\d/, ".busiest tbody td");
        return body(tab, board);
    }, { width: 1280, height: 900, ...look });
}

const texts = (tab, selector) => tab.page.$$eval(selector, (all) =>
    all.map((one) => one.innerText.replace(/\s+/g, " ").trim()));

// Returns where the time `ago` seconds before `now` is in the wide chart; `now` defaults to the end of the chart.
function place(tab, ago, now = null) {
    return tab.page.evaluate((ago, now) => {
        const root = document.querySelector(".stack"), box = root.getBoundingClientRect(), { stack } = root;

        return [box.x + stack.x((now ?? stack.shown.until) - ago), box.y + 60];
    }, ago, now);
}

test("the last hour of each service and each kind of core is shown at once", async () => {
    await board("", async (tab) => {
        await tab.until("six services and the others", () => document.querySelectorAll(".legend li").length >= 8);
        const legend = await texts(tab, ".legend li");
        assert.deepEqual(legend.slice(0, 3).map((text) => text.split(" ")[0]), ["postgresql", "frigate",
                                                                              "homeassistant.service"]);
        assert.match(legend[6], /^others \d/);
        assert.match(legend[7], /^in use [\d.]+ of 8$/);
        const tiles = await texts(tab, ".tiles:first-child h3");
        assert.deepEqual(tiles, ["Utilisation", "Clock, A55", "Clock, A76", "IPC, A55", "IPC, A76",
                                 "Backend stall, A76", "L2 MPKI, A76", "Memory"]);
        await tab.sees(/^2\.4 GHz$/m, '[data-name="cpu_frequency_hertz armv8_cortex_a76"] .value');
        assert.deepEqual(await texts(tab, ".cores h2"),
                         ["Cortex-A55 CPUs 0-3 · 1.8 GHz", "Cortex-A76 CPUs 4-7 · 2.4 GHz"]);
        await tab.sees(/^0\s+\d+%$/m, '[data-cpu="0"]');
        const [first] = await texts(tab, ".busiest tbody tr");
        assert.match(first, /^postgresql system.slice [\d.]+ .*0\.92 .*Flame graph$/);
        assert.equal(await tab.page.$$eval(".busiest tbody tr", (all) => all.length), 5);
        assert.equal(await tab.page.$eval(".busiest .action a", (one) => one.getAttribute("href")),
                     "#profile?cgroup=%2Fsystem.slice%2Fpostgresql.service");
        assert.equal(await tab.page.$eval('[data-cpu="5"]', (one) => one.getAttribute("href")), "#profile?cpu=5");
        const link = '[data-name="l2_mpki armv8_cortex_a76"] a';
        assert.equal(await tab.page.$eval(link, (one) => one.getAttribute("href")), "#profile?event=cache-misses");
        await tab.sees("Nothing: everything configured is counted", ".attention");
        await tab.sees("0.0.0-board", "footer");
        await tab.sees("Orange Pi 5 · RK3588S · Linux 5.10.110 · up 12 d", "header");
        assert.ok(tab.asked(/v1\/history/).every(({ url }) => new URL(url).searchParams.get("limit") === "1"));
        const loaded = tab.asked(/\/page\/boot\.js/).at(-1).begin, asked = tab.asked(/v1\/history/, loaded)[0].begin;
        assert.equal(tab.asked(/v1\/status/, loaded).filter(({ begin }) => begin < asked).length, 1);
    });
});

test("a step for which only the services are known is not drawn yet", async () => {
    await board("", async (tab) => {
        await tab.until("a chart without the newest step", () => {
            const { ends, bands, until } = document.querySelector(".stack").stack.shown;

            return bands.length > 1 && until - ends.at(-1) > 9;
        });
    }, { late: true });
});

test("pointing at a moment shows the values of that moment in all charts", async () => {
    await board("", async (tab) => {
        await tab.page.mouse.move(...await place(tab, 1350));
        await tab.sees("under the pointer", ".legend");
        assert.ok(parseFloat((await texts(tab, ".legend b"))[0]) > 3, "postgresql used one more CPU at that time");
        assert.ok(await tab.page.$$eval(".cursor", (all) => all.filter((one) => !one.hidden).length) >= 9);
        await tab.page.hover('[data-name="memory_bytes_per_second "] .line');
        await tab.sees("under the pointer", ".legend");
        await tab.page.mouse.move(5, 5);
        await tab.sees("Now", ".legend h3");
    });
});

test("dragging selects an interval; tiles, services and the URL reflect it", async () => {
    await board("", async (tab, { start }) => {
        await tab.page.mouse.move(...await place(tab, 1480, start));
        await tab.page.mouse.down();
        await tab.page.mouse.move(...await place(tab, 1400, start), { steps: 3 });
        await tab.page.mouse.move(...await place(tab, 1220, start), { steps: 3 });
        await tab.page.mouse.up();
        await tab.until("the interval in the URL", () => /^#overview\?from=\d+&to=\d+$/.test(location.hash));
        await tab.sees(/in the selected interval/, ".busiest");
        await tab.sees(/0\.41/, '[data-cgroup="/system.slice/postgresql.service"]');
        await tab.sees(/Flame graph of postgresql/, ".bubble");
        assert.doesNotMatch(await tab.text(".bubble"), /of this interval/);
        await tab.sees(/^before: 2\.(39|4) GHz$/m, '[data-name="cpu_frequency_hertz armv8_cortex_a76"] .foot');
        assert.equal(await tab.page.$eval('[data-name="cpu_frequency_hertz armv8_cortex_a76"] .foot', (one) =>
            one.classList.contains("warn")), true);
        await tab.sees(/\d%/, '[data-cpu="7"]');
        const [asked] = tab.asked(/history.*collector=cpu$/);
        assert.match(asked.url, /since=\d+\.000&until=\d+\.000&step=\d+\.000s/);
        assert.deepEqual(await tab.findings(), []);
        await tab.fits();
        await tab.page.click('.bubble [aria-label="Clear the interval"]');
        await tab.until("a URL without an interval", () => location.hash === "#overview");
        await tab.sees("in the last minute", ".busiest");
    });
});

test("an interval that begins within the hindsight links to its flame graph", async () => {
    // The daemon's clock is two hours behind the browser's clock.
    const start = Math.floor(Date.now() / 1000) - 7200;
    const link = (tab) => tab.page.$$eval(".bubble a", (all) => all.filter((one) => one.offsetParent &&
        one.innerText === "Flame graph of this interval").map((one) => one.getAttribute("href")));

    await board(`#overview?from=${start - 300}&to=${start - 280}`, async (tab, board) => {
        await tab.sees("Flame graph of this interval", ".bubble");
        assert.deepEqual(await link(tab), [`#profile?from=${start - 300}&to=${start - 280}`]);
        assert.deepEqual(await tab.findings(), []);
        for (const width of [1280, 360]) {
            await tab.look({ width });
            await tab.fits();
        }
        await tab.go(`#overview?from=${start - 1300}&to=${start - 280}`);
        await tab.sees("17 min", ".bubble");
        assert.deepEqual(await link(tab), []);
        await tab.go(`#overview?from=${start - 300}&to=${start - 280}`);
        await tab.sees("Flame graph of this interval", ".bubble");
        board.start += 1000;
        await tab.until("no link once the interval is too old", () =>
            !document.querySelector(".bubble").innerText.includes("of this interval"));
    }, { start, hindsight: 1200 });
});

test("an interval can be compared with the time before it, or with another interval that the user drags", async () => {
    const start = Math.floor(Date.now() / 1000), from = start - 1480, to = start - 1220;
    const ipc = '[data-name="ipc armv8_cortex_a76"] .foot', first = '[data-cgroup="/system.slice/postgresql.service"]';

    await board(`#overview?from=${from}&to=${to}`, async (tab) => {
        await tab.press("Compare", ".bubble");
        await tab.until("the base", (wanted) => location.hash.endsWith(wanted), `&with=${from - 260}-${from}`);
        await tab.sees(/was [\d.]+, −\d\d%/, ipc);
        await tab.sees(/0\.41\s+was 0\.[89]\d/, first);
        await tab.sees(/[34]\.\d\d\s+was [23]\.\d\d/, `${first} .share`);
        await tab.sees(/ to .*, compared with .* to /, ".busiest");
        assert.deepEqual(await tab.findings(), []);
        await tab.fits();
        await tab.page.mouse.move(...await place(tab, 600));
        await tab.page.mouse.down();
        await tab.page.mouse.move(...await place(tab, 300), { steps: 3 });
        await tab.page.mouse.up();
        await tab.until("another base", (old) => /with=\d+-\d+$/.test(location.hash) && !location.hash.includes(old),
                        `with=${from - 260}`);
        await tab.press("Compare", ".bubble");
        await tab.until("a URL without a comparison", () => !location.hash.includes("with="));
        await tab.sees("4 min 20 s", ".bubble");
        await tab.sees(/^before: /m, ipc);
        await tab.until("no base value", (first) => !document.querySelector(`${first} .was`).textContent, first);
    }, { start });
});

test("a clock rate shows what limits it; a starved service is marked, with the reason", async () => {
    const now = Math.floor(Date.now() / 1000);
    const findings = [{ rule: "clock_limited", title: "CPUs 4-7 run at 1.42 of 2.40 GHz", text: "The frequency limit " +
        "was 1.42 GHz on average in 5 min under load. A cooling device slows them down: they are too hot.", cpus: "4-7",
        since: now - 1500, until: null, metric: "cpu_frequency_hertz", before: 2.4e9, after: 1.42e9,
        evidence: "/api/v1/history" }];
    const starved = [{ collector: "cgroup", group: "core", pmu: "armv8_cortex_a76", cpu: -1, state: "starved",
                       cgroup: "/lxc.payload.frigate", cause: "other programs have all counters" }];

    await board("", async (tab) => {
        await tab.sees(/^of 2\.4 GHz: too hot$/m, '[data-name="cpu_frequency_hertz armv8_cortex_a76"] .foot');
        await tab.sees(/^hour: /m, '[data-name="cpu_frequency_hertz armv8_cortex_a55"] .foot');
        await tab.sees(/\bstarved\b/, '[data-cgroup="/lxc.payload.frigate"]');
        assert.equal(await tab.page.$eval('[data-cgroup="/lxc.payload.frigate"] td.number.warn', (one) => one.title),
                     "Starved: other programs have all counters. The value is unknown, not zero.");
        await tab.sees(/0\.92/, '[data-cgroup="/system.slice/postgresql.service"]');
    }, { findings, starved });
});

test("a link contains the selected interval; Back and Escape clear the selection", async () => {
    const start = Math.floor(Date.now() / 1000), from = start - 1480, to = start - 1220;

    await board(`#overview?from=${from}&to=${to}`, async (tab) => {
        await tab.sees(/in the selected interval/, ".busiest");
        await tab.sees("4 min 20 s", ".bubble");
        await tab.page.focus(".stack");
        await tab.key("Escape");
        await tab.sees("in the last minute", ".busiest");
        await tab.go(`#overview?from=${from}&to=${to - 60}`);
        await tab.sees("3 min 20 s", ".bubble");
    }, { start });
});

test("the keyboard moves between moments and selects an interval", async () => {
    await board("", async (tab) => {
        const value = () => tab.page.$eval(".stack", (one) => one.getAttribute("aria-valuetext"));

        await tab.page.focus(".stack");
        await tab.key("Home");
        const first = await value();
        assert.match(first, /CPUs in use; postgresql [\d.]+, frigate [\d.]+/);
        await tab.key("PageUp", "ArrowRight");
        assert.notEqual(await value(), first);
        await tab.page.keyboard.down("Shift");
        await tab.key("ArrowRight", "ArrowRight", "PageUp", "ArrowLeft");
        await tab.page.keyboard.up("Shift");
        await tab.sees("1 min 50 s", ".bubble");
        await tab.until("the interval in the URL", () => /from=\d+&to=\d+$/.test(location.hash));
        await tab.sees("Selected: ", "#notice");
        await tab.key("Escape");
        await tab.until("a URL without an interval", () => location.hash === "#overview");
    });
});

test("the five-minute range is live, and keeps its values when the view is reopened", async () => {
    await board("#overview?range=5min", async (tab) => {
        await tab.sees("last 5 minutes", ".hero small");
        await tab.sees("in the last 10 seconds", ".busiest");
        await tab.until("two answers", () => document.querySelector(".stack").stack.shown.ends.length > 31);
        const ends = await tab.page.evaluate(() => document.querySelector(".stack").stack.shown.ends.length);
        await tab.go("#health");
        await tab.go("#overview?range=5min");
        await tab.until("the moments recorded earlier", (ends) =>
            document.querySelector(".stack")?.stack.shown?.ends.length >= ends, ends);
        await tab.page.click('[data-range="hour"]');
        await tab.sees("last hour", ".hero small");
        assert.equal(await tab.page.evaluate(() => location.hash), "#overview");
    });
});

test("findings link to their evidence, and untrusted names are shown as text", async () => {
    const markup = '<img src=x onerror="window.ran=1">', now = Math.floor(Date.now() / 1000);
    const findings = [
        { rule: "clock_limited", title: "CPUs 4-7 run at 1.42 of 2.40 GHz", text: "Thermal limit (85 °C).", cpus: "4-7",
          since: now - 1500, until: null, evidence: "/api/v1/history?cpu=4&since=-30m" },
        { rule: "service_changed", title: `${markup}: IPC 0.92 to 0.41`, text: "\u202eStalls 31 to 68 %.",
          since: now - 1500, until: now - 1200, evidence: "javascript:window.ran=1",
          cgroup: `/system.slice/${markup}.service` }];
    const hostile = { ...services, [`/system.slice/${markup}.service`]: [2, { name: `${markup}\u202e` }] };

    await board("", async (tab) => {
        await tab.sees("CPUs 4-7 run at 1.42 of 2.40 GHz", ".attention");
        const links = await tab.page.$$eval(".attention a", (all) =>
            all.map((one) => [one.innerText, one.getAttribute("href")]));
        assert.deepEqual(links.slice(0, 4), [["Flame graph", "#profile?cpu=4"], ["Show", links[1][1]],
            ["Compare", links[2][1]], ["Evidence", "api/v1/history?cpu=4&since=-30m"]]);
        assert.equal(links.filter(([text]) => text === "Evidence").length, 1);
        assert.match(links[1][1], /^#overview\?from=\d+&to=\d+$/);
        assert.deepEqual(links.at(-1), ["Compare",
            `#overview?from=${now - 1500}&to=${now - 1200}&with=${now - 1800}-${now - 1500}`]);
        assert.deepEqual(await tab.findings(), []);
        await tab.sees(markup, ".busiest");
        await tab.sees(markup, ".legend");
        assert.deepEqual(await tab.page.evaluate(() => [window.ran ?? null, document.querySelectorAll("img").length,
            document.body.textContent.match(/[\u202a-\u202e]/g)]), [null, 0, null]);
        await tab.page.click(".attention li:last-child a:last-child");
        await tab.sees(/in the selected interval.*, compared with/, ".busiest");
        await tab.sees(/was [\d.]+, −\d\d%/, '[data-name="ipc armv8_cortex_a76"] .foot');
        await tab.fits();
    }, { findings, services: hostile });
});

test("a file with a saved hour can be opened on any machine", async () => {
    const folder = scratch(), file = join(folder, "hour.json");
    const other = new SimulatedBoard({ services: { "/a.slice/one.service": [2], "/b": [1] }, start: 1700000000, n: 4 });

    writeFileSync(file, JSON.stringify(other.history(new URLSearchParams({ since: "1699990000" }))));
    writeFileSync(join(folder, "bad.json"), readFileSync(new URL(import.meta.url)));
    await board("", async (tab) => {
        const input = await tab.page.$("input[type=file]");

        assert.match(await tab.page.$eval(".hero a[download]", (one) => one.getAttribute("href")),
                     /\/api\/v1\/history\?since=-1h&totals=cgroup&derived=ipc%2C/);
        await input.uploadFile(join(folder, "bad.json"));
        await tab.sees("bad.json is not a document of /api/v1/history", "#fault");
        await input.uploadFile(file);
        await tab.sees("in hour.json", ".hero");
        await tab.sees(/one\.service.*2\.\d\d/s, ".busiest");
        await tab.sees("IPC, A76", ".tile");
        await tab.sees(/\d%/, '[data-cpu="3"]');
        const asked = performance.now();
        await tab.page.mouse.move(...await place(tab, 1800));
        await tab.page.mouse.down();
        await tab.page.mouse.move(...await place(tab, 900), { steps: 4 });
        await tab.page.mouse.up();
        await tab.sees(/in the selected interval/, ".busiest");
        assert.deepEqual(tab.asked(/history/, asked), []);
        await tab.press("Close");
        await tab.sees("postgresql", ".legend");
    });
});

test("labels do not overlap at any width", async () => {
    await board("", async (tab) => {
        for (const width of [320, 390, 768, 1030, 1100, 1440, 2560, 3840]) {
            await tab.look({ width });
            await tab.fits();
            const cut = await tab.page.$$eval(".tile, .cell, .legend li, header > *, .busiest .scroll", (all) =>
                all.filter((one) => one.scrollWidth > one.clientWidth + 1).map((one) => one.outerHTML.slice(0, 90)));
            assert.deepEqual(cut, [], `at ${width} px`);
        }
    });
});
