// SPDX-License-Identifier: Apache-2.0
// Tests the Services view with 300 cgroups: one is busy, one is nested, and some have hostile names.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, rmdirSync, readdirSync } from "node:fs";
import { after, before, test } from "node:test";
import { Session } from "./browser.mjs";
import { eventually, hierarchy, started } from "./daemon.mjs";

// A container's cgroup. A process runs in it, since scopes without a process are not counted.
const container = `docker-${"0123456789abcdef".repeat(4)}.scope`;
const names = ["<img src=x onerror=alert(1)>.service", "bidi-\u202eecivres.service", "tab\tname.service",
    "&amp;.service", "__proto__", container,
    "n".repeat(240), "deep.slice", "deep.slice/inner.service", "lxc.payload.<img src=x onerror=alert(3)>", "lxc.payload.web", "systemd-nspawn@web.service"];
// The name is random: two test runs may have the same pid, each in its own namespace.
const below = `/perfcountd-page-${randomUUID().slice(0, 8)}`, services = 300 - names.length - 1;
const config = (rest) => `sampler: {enabled: false}\ncollectors:\n  cgroup: {include: ["${below}/**"], ${rest}}\n`;
const busy = `${below}/load-7.service`, busyName = "load-7.service";
let folder = null, loads = [], session = null;

// Creates the cgroups. The name that is not UTF-8 is passed to mkdirSync() as bytes.
function makeCgroups() {
    folder = `${hierarchy()}${below}`;
    mkdirSync(folder);
    for (const name of names)
        mkdirSync(`${folder}/${name}`);
    mkdirSync(Buffer.concat([Buffer.from(`${folder}/bad-`), Buffer.from([0xff, 0xfe])]));
    for (let i = 1; i <= services; i++)
        mkdirSync(`${folder}/load-${i}.service`);
    loads = [["load-7.service", 0.01], [container, 1]].map(([name, pause]) =>
        started("sh", ["-c", `echo $$ >"${folder}/${name}/cgroup.procs"; while :; do sleep ${pause}; done`]));
}

function removeCgroups() {
    rmdirSync(`${folder}/deep.slice/inner.service`);
    for (const name of readdirSync(Buffer.from(folder), { encoding: "buffer", withFileTypes: true }))
        if (name.isDirectory())
            rmdirSync(Buffer.concat([Buffer.from(`${folder}/`), name.name]));
    rmdirSync(folder);
}

const possible = process.getuid() === 0 && hierarchy() !== undefined;
const options = { skip: possible ? false : "root, to create cgroups" };

before(async () => {
    if (!possible)
        return;
    makeCgroups();
    session = await Session.open({ config: config("max_cgroups: 400") });
});
after(async () => {
    await session?.close();
    for (const load of loads)
        load.kill("SIGKILL");
    if (folder) // a killed shell's `sleep` keeps running for a moment
        await eventually("cgroups without processes", () => ["load-7.service", container].every((name) =>
            readFileSync(`${folder}/${name}/cgroup.procs`).length === 0));
    if (folder)
        removeCgroups();
});

const rows = (tab) => tab.page.$$eval("tbody button.row", (cells) => cells.map((cell) => cell.textContent));
const query = (tab) => new URLSearchParams(new URL(tab.page.url()).hash.split("?")[1]);

test("all cgroups are shown, the busy one first, and names are shown as text", options, async () => {
    await session.see("#services", async (tab) => {
        await tab.sees("300 cgroups.");
        await tab.until("the busy cgroup", (name) =>
            document.querySelector("tbody button.row")?.textContent === name, busyName);
        assert.equal((await rows(tab)).length, 100, "the document contains only the first 100 rows");
        await tab.page.click(".more button");
        await tab.page.click(".more button");
        const all = (await rows(tab)).join("\n");
        assert.equal((await rows(tab)).length, 300);
        for (const name of ["<img src=x onerror=alert(1)>.service", "bidi-\\u202eecivres.service", "/__proto__",
            "tab\ufffdname", "&amp;.service", "docker-0123456789ab….scope", "bad-\ufffd\ufffd",
            "<img src=x onerror=alert(3)>", `web ${below}/lxc.payload.web`, `web ${below}/systemd-nspawn@web.service`])
            assert.ok(all.includes(name), `${name} is missing`);
        assert.equal(await tab.page.$$eval("main img, main script", (found) => found.length), 0);
    });
});

test("the table is filtered as the user types, without a request; the URL contains the filter", options, async () => {
    await session.see("#services", async (tab) => {
        await tab.sees("300 cgroups.");
        await tab.page.type("input[type=search]", "LOAD-29");
        await tab.sees(/^\d+ of 300 cgroups match/m);
        assert.equal((await rows(tab)).length, [...Array(services + 1).keys()].filter((i) => /^29/.test(i)).length);
        assert.equal(query(tab).get("filter"), "LOAD-29");
        await tab.go("#services?filter=load-*7.service");
        await tab.until("the pattern in the URL", () =>
            document.querySelector("input[type=search]").value === "load-*7.service");
        assert.ok((await rows(tab)).every((name) => /^load-\d*7\.service$/.test(name)));
        await tab.go("#services?filter=0123456789abcdef0");
        await tab.until("a container by its id", () => document.querySelectorAll("tbody th").length === 1);
        await tab.go("#services?filter=%3Cimg+src%3Dx+onerror%3Dalert(2)%3E");
        await tab.sees('No counted cgroup has "<img src=x onerror=alert(2)>"');
        await tab.go("#services?filter=container%3Dw*");
        await tab.until("containers by their names", () => document.querySelectorAll("tbody th").length === 2);
        assert.ok((await rows(tab)).every((name) => name.startsWith("web /")));
        await tab.go(`#services?open=${encodeURIComponent(`${below}/lxc.payload.web`)}`);
        await tab.sees(/Named by\s+path/, "tr.opened dl");
        await tab.go(`#services?open=${encodeURIComponent(`${below}/${container}`)}`);
        await tab.sees(/Unnamed\s+\S+ /, "tr.opened dl");
    });
});

test("the table can be sorted by mouse and keyboard; a link restores the order", options, async () => {
    const direction = (tab, key) => tab.page.$eval(`th[data-key=${key}]`, (th) => th.getAttribute("aria-sort"));

    await session.see("#services?columns=minor_faults%2Cunit", async (tab) => {
        await tab.sees("300 cgroups.");
        await tab.page.click("th[data-key=cgroup] button");
        assert.equal(await direction(tab, "cgroup"), "ascending");
        assert.ok((await rows(tab)).indexOf("load-2.service") <
                  (await rows(tab)).indexOf("load-10.service"), "numbers in names are sorted by value");
        await tab.page.focus("th[data-key=minor_faults] button");
        await tab.key("Enter");
        assert.equal(await direction(tab, "minor_faults"), "descending");
        await tab.key("Space");
        assert.equal(await direction(tab, "minor_faults"), "ascending");
        assert.equal(`${query(tab).get("sort")} ${query(tab).get("order")}`, "minor_faults asc");
        await tab.go(new URL(tab.page.url()).hash, { fresh: true });
        await tab.until("the order in the link", () =>
            document.querySelector("th[data-key=minor_faults]")?.getAttribute("aria-sort") === "ascending");
        assert.deepEqual(await tab.page.$$eval("thead th", (cells) => cells.map((cell) => cell.dataset.key)),
            ["cgroup", "minor_faults", "unit", "profile"]);
    });
});

test("opening a row shows its charts; rows keep their elements, focus and selection", options, async () => {
    await session.see(`#services?filter=load-7.`, async (tab) => {
        await tab.sees("load-7.service", "tbody th");
        await tab.page.focus("tbody button.row");
        await tab.key("Enter");
        await tab.sees("Counted", "tr.opened");
        assert.equal(query(tab).get("open"), busy);
        await tab.until("a line", () => document.querySelectorAll("tr.opened [role=img]").length >= 3);
        await tab.until("drawn lines", () => [...document.querySelectorAll("tr.opened canvas")].every((one) =>
            one.width > 0 && one.width !== 300)); // 300 is the default width of a canvas that was never drawn
        await tab.page.evaluate(() => {
            window.kept = document.querySelector("tbody tr");
            window.before = document.querySelector("tr.opened .value").textContent;
        });
        await tab.until("another value", () =>
            document.querySelector("tr.opened .value").textContent !== window.before);
        assert.ok(await tab.page.evaluate(() => window.kept === document.querySelector("tbody tr")));
        assert.equal((await tab.focused()).text, busyName);
        const columns = () => tab.page.$$eval("thead th", (all) => all.length);
        const wide = await columns();
        await tab.look({ width: 500 });
        await eventually("fewer columns", async () => await columns() < wide);
        assert.equal((await tab.focused()).text, busyName, "the focus survives a change of columns");
        assert.equal(await tab.page.$eval("tbody th", (cell) => cell.title), busy);
        await tab.sees(busy, "tr.opened dl");
        assert.equal(await tab.page.$eval("tbody button.row", (button) => button.getAttribute("aria-expanded")), "true");
        await tab.key("Enter");
        await tab.until("a closed row", () => !document.querySelector("tr.opened"));
        assert.equal(query(tab).get("open"), null);
    });
});

test("arrow keys move between rows, and selected text stays selected", options, async () => {
    await session.see("#services?sort=cgroup&order=asc&filter=load-1", async (tab) => {
        await tab.sees("load-1.service", "tbody th");
        await tab.page.focus("tbody button.row");
        await tab.key("ArrowDown", "ArrowDown", "ArrowUp");
        assert.equal((await tab.focused()).text.trim(), (await rows(tab))[1]);
        await tab.page.evaluate(() =>
            document.getSelection().selectAllChildren(document.querySelectorAll("tbody th")[3]));
        const selected = await tab.page.evaluate(() => String(document.getSelection()));
        const since = performance.now();
        await eventually("two more answers", () =>
            tab.asked(/rates/, since).filter((one) => one.status === 200).length >= 2);
        assert.equal(await tab.page.evaluate(() => String(document.getSelection())), selected);
    });
});

test("nested rows can be folded by mouse and keyboard, and the URL lists the folded rows", options, async () => {
    const below = (tab) => tab.page.$$eval("tbody button.row", (all) => all.some((one) =>
        one.textContent === "inner.service"));
    const expanded = (tab) => tab.page.$eval(".fold:not(.leaf)", (one) => one.getAttribute("aria-expanded"));

    await session.see("#services?sort=cgroup&order=asc", async (tab) => {
        await tab.sees("deep.slice 1 inside", "tbody th");
        const names = await rows(tab);
        assert.equal(names[names.indexOf("deep.slice") + 1], "inner.service", "a nested cgroup is below its parent");
        assert.equal(await expanded(tab), "true");
        await tab.page.click(".fold:not(.leaf)");
        assert.deepEqual([await below(tab), await expanded(tab)], [false, "false"]);
        assert.match(query(tab).get("fold"), /\/deep\.slice$/);
        await tab.go(new URL(tab.page.url()).hash, { fresh: true });
        await tab.sees("deep.slice 1 inside", "tbody th");
        assert.equal(await below(tab), false, "the link restores the folded row");
        await tab.page.evaluate(() => [...document.querySelectorAll("tbody button.row")]
            .find((one) => one.textContent === "deep.slice").focus());
        await tab.key("ArrowRight");
        assert.deepEqual([await below(tab), query(tab).get("fold")], [true, null]);
        await tab.key("ArrowDown", "ArrowLeft");
        assert.equal((await tab.focused()).text.trim(), "deep.slice", "the left arrow key moves to the parent");
        await tab.key("ArrowLeft");
        assert.equal(await below(tab), false);
        await tab.page.type("input[type=search]", "inner");
        await tab.sees("1 of 300 cgroups match the filter.");
        assert.deepEqual(await rows(tab), ["deep.slice", "inner.service"], "the match and its parent are shown");
    });
});

test("sparklines show the daemon's history at once; each row links to its profile", options, async () => {
    await session.see("#services?filter=load-7.", async (tab) => {
        await tab.until("a line", () => document.querySelector("td .line canvas")?.width > 0);
        assert.ok(tab.asked(/api\/v1\/history/).every((one) => one.status === 200));
        const { length } = tab.asked(/api\/v1\/history/);
        assert.equal(length, 1);
        assert.match(await tab.page.$eval("td .line", (one) => one.getAttribute("aria-label")),
                     new RegExp(`^CPUs of ${busyName}: `));
        await tab.page.click("td[data-key=profile] a");
        await tab.until("the form", () => document.querySelector("#profile-cgroup") !== null);
        assert.equal(await tab.page.$eval("#profile-cgroup", (one) => one.value), busy);
        assert.equal(tab.asked(/api\/v1\/samples/).length, 0);
    });
});

test("without a history the sparklines show what this tab has recorded", options, async () => {
    await session.daemon.restart(`${config("max_cgroups: 400")}history: {enabled: false}\n`);
    await session.see("#services", async (tab) => {
        tab.expect(/status of 404/);
        await tab.sees("last 5 min", "thead");
        await tab.until("a line", () => document.querySelector("td .line canvas")?.width > 0);
        const since = performance.now();
        await eventually("two more answers", () =>
            tab.asked(/rates/, since).filter((one) => one.status === 200).length >= 2);
        assert.equal(tab.asked(/api\/v1\/history/).length, 1, "the history is requested only once");
    });
    await session.daemon.restart(config("max_cgroups: 400"));
});

test("columns can be selected, and the URL lists them", options, async () => {
    await session.see("#services", async (tab) => {
        await tab.sees("300 cgroups.");
        await tab.page.click("details.columns summary");
        const boxes = await tab.page.$$eval(".columns input", (all) => all.map((box) => box.value));
        for (const key of ["cpu_utilization", "counted", "unit", "container", "container_id", "context_switches"])
            assert.ok(boxes.includes(key), `column ${key} exists`);
        await tab.page.click(".columns input[value=major_faults]");
        const had = await tab.page.$eval("th[data-key=major_faults]", () => true).catch(() => false);
        assert.equal(query(tab).get("columns").split(",").includes("major_faults"), had);
    });
});

test("an opened row fits any width, and axe-core reports nothing", options, async () => {
    await session.see(`#services?open=${encodeURIComponent(busy)}`, async (tab) => {
        await tab.sees("Counted", "tr.opened");
        for (const width of [360, 1280, 3840]) {
            await tab.look({ width });
            await tab.fits();
        }
        assert.deepEqual(await tab.findings(), []);
    });
});

test("cgroups beyond the limit are listed; if no cgroup matches, the patterns are shown", options, async () => {
    await session.daemon.restart(config("max_cgroups: 290"));
    await session.see("#services", async (tab) => {
        const seen = await tab.until("the list of uncounted cgroups", () =>
            document.body.innerText.includes("10 cgroups are not counted") && document.body.innerText);
        assert.match(seen, /Services 290 cgroups\.$/m, "the list appears only after the first rows");
        await tab.page.focus("main > details summary");
        await tab.key("Enter");
        await tab.sees("At most 290 cgroups are counted");
        // Advances the page's clock by a minute, so that the page requests the list of cgroups again. Rates are
        // requested once the new list is shown.
        const since = performance.now();
        await tab.page.evaluate(() => {
            const now = performance.now.bind(performance);
            performance.now = () => now() + 60000;
        });
        await eventually("a request for a new list", () => {
            const [list] = tab.asked(/\/cgroups$/, since);
            return list?.status === 200 && tab.asked(/\/rates/, list.begin).length > 0;
        });
        assert.equal((await tab.focused()).text, "10 cgroups are not counted");
        await tab.sees("At most 290 cgroups are counted");
    });
    await session.daemon.restart('collectors: {cgroup: {include: ["/no-such/**"]}}\n');
    await session.see("#services", async (tab) => {
        await tab.sees('matches "/no-such/**"');
        await tab.sees("collectors.cgroup.include");
    });
});

const bpf = options.skip || !existsSync("/sys/kernel/btf/vmlinux") ? "a kernel for the engine bpf" : false;

test("after the opener process has ended, numbers are dimmed, and their age and the reason are shown", { skip: bpf },
     async () => {
    await session.daemon.restart(config("max_cgroups: 400, engine: bpf"));
    const { opener } = await session.daemon.get("/api/v1/status");

    await session.see("#services", async (tab) => {
        await tab.until("the busy cgroup", (name) =>
            document.querySelector("tbody button.row")?.textContent === name, busyName);
        const before = await tab.page.$eval("tbody .bar .value", (one) => one.textContent);
        process.kill(opener.pid, "SIGKILL");
        await tab.sees(/These numbers are \d+ s old: cgroups are no longer counted\. /, ".age");
        await tab.sees(/The process that opens counters has ended/, ".card > .warn");
        assert.ok(await tab.page.$eval(".scroll", (one) => one.classList.contains("old")));
        assert.match(await tab.page.$eval("tbody .bar .value", (one) => one.textContent), /^\d*\.?\d+$/);
        assert.notEqual(before, "–");
        assert.deepEqual(await tab.findings(), []);
    });
    await session.see("#services", async (tab) => {
        await tab.sees(/Cgroups are no longer counted\. .*See Health\./, ".age");
        assert.deepEqual(await tab.page.$$eval("tbody td.number", (cells) =>
            [...new Set(cells.map((cell) => cell.textContent))]), ["–"], "there are no numbers that could be stale");
    });
    await session.see("#health", (tab) => tab.sees("The cgroup collector fails"));
});

test("while the daemon is stopped the numbers are dimmed and show their age", options, async () => {
    await session.daemon.restart(config("max_cgroups: 400"));
    await session.see("#services", async (tab) => {
        tab.expect(/ERR_|Failed to load/);
        await tab.sees("300 cgroups.");
        await session.daemon.stop("SIGKILL");
        await tab.sees(/These numbers are \d+ s old: no answer has arrived since\./, ".age");
        assert.ok(await tab.page.$eval(".scroll", (one) => one.classList.contains("old")));
        await session.daemon.again();
        await tab.until("new numbers", () => !document.querySelector(".scroll").classList.contains("old"));
        assert.ok(await tab.page.$eval(".age", (one) => one.hidden));
    });
});
