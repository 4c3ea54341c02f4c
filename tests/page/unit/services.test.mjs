// SPDX-License-Identifier: Apache-2.0
// Tests the rows of the cgroup table: groups and PMUs merged into one row, starved groups, filters, and sorting.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Cgroups, filterOf, glob, shortText } from "../../../web/services/cgroups.js";
import { columnsOf, isTelling, sharesOf, usual } from "../../../web/services/columns.js";
import { Hour, lineOf, linesOf, titleOfSpan } from "../../../web/services/hour.js";
import { Folds, flatten, nest, withAncestors } from "../../../web/services/tree.js";
import { shownOf, sorted } from "../../../web/table.js";

const metrics = { metrics: [
    { name: "ipc", unit: "ratio", help: "", collectors: ["cpu", "cgroup"], available: [], absent: [],
      formulas: [{ formula: "instructions / cycles", pmu: null, events: ["instructions", "cycles"] }] },
    { name: "running_ratio", unit: "ratio", help: "", collectors: ["cgroup"], available: [], absent: [],
      formulas: [{ formula: "running_time / enabled_time", pmu: null, events: ["running_time", "enabled_time"] }] },
    { name: "package_watts", unit: "watts", help: "", collectors: ["pmu"], available: [], absent: [], formulas: [] },
] };

function rowsOf(...totals) {
    const cgroups = new Cgroups();

    cgroups.learn({ cgroups: [{ cgroup: "/a.slice/b.service", state: "watched", unit: "b.service", slice: "a.slice",
                                container_id: "" }] });
    cgroups.learnMetrics(metrics);
    return cgroups.rows({ seconds: 2, totals });
}

function total(pmu, events, ratios, group = "core", cgroup = "/a.slice/b.service") {
    return { collector: "cgroup", cgroup, pmus: [pmu], group, events, ratios };
}

test("the groups of a cgroup form one row", () => {
    const { rows, news } = rowsOf(total("cpu", { cycles: 100, instructions: 50 }, { ipc: 0.5, running_ratio: 0.4 }),
                                  total("software", { minor_faults: 3 }, { running_ratio: 1 }, "software"));

    assert.equal(rows.length, 1);
    assert.equal(news, false);
    assert.equal(rows[0].names.get("unit"), "b.service");
    assert.equal(rows[0].share, 0.4);
    assert.deepEqual({ ...rows[0].values.get("ipc") }, { value: 0.5, share: 0.4, starved: false });
    assert.equal(rows[0].values.get("minor_faults").share, 1);
});

test("values on several PMUs are the daemon's sums, and the text on the counted share of time names the PMUs", () => {
    const both = { ...total("little", { cycles: 1000, ll_cache_miss_rd: 5 }, { running_ratio: 0.5 }),
                   pmus: ["little", "big"] };
    const { rows: [row] } = rowsOf(both);
    const known = new Map(metrics.metrics.map((one) => [one.name, one]));
    const columns = columnsOf(known, new Set([...row.values.keys(), "ipc"]));

    assert.equal(row.values.get("cycles").value, 1000);
    assert.equal(columns.get("ipc").text(row), "–");
    assert.deepEqual(sharesOf(row), ["core (little, big): 50%"]);
});

test("starved values and unknown values are not shown as zero", () => {
    const starved = rowsOf(total("cpu", { cycles: null, instructions: null }, { running_ratio: 0 })).rows[0];
    const paused = rowsOf(total("cpu", { cycles: null, instructions: null }, {})).rows[0];
    const zero = rowsOf(total("cpu", { cycles: 0, instructions: 0 }, {})).rows[0];
    const known = new Map(metrics.metrics.map((one) => [one.name, one]));
    const column = (row, key) => columnsOf(known, new Set(row.values.keys())).get(key);

    for (const key of ["ipc", "cycles"]) {
        assert.equal(column(starved, key).text(starved), "starved");
        assert.equal(column(starved, key).value(starved), null);
    }
    assert.equal(column(paused, "cycles").text(paused), "–");
    assert.equal(column(zero, "cycles").text(zero), "0 /s");
});

test("an event in two groups is not added up: the group counted for longer is used", () => {
    const { rows } = rowsOf(total("cpu", { cycles: 80 }, { running_ratio: 0.2 }, "one"),
                            total("cpu", { cycles: 100 }, { running_ratio: 1 }, "two"));

    assert.equal(rows[0].values.get("cycles").value, 100);
});

test("an unlisted cgroup is reported as new; names such as __proto__ are ordinary names", () => {
    const { rows, news } = rowsOf(total("cpu", { constructor: 1, toString: 2 }, {}, "__proto__", "/__proto__"));

    assert.equal(news, true);
    assert.equal(rows[0].key, "/__proto__");
    assert.equal(rows[0].values.get("constructor").value, 1);
});

test("a value that was counted for only part of the time is marked as an estimate", () => {
    const { rows: [row] } = rowsOf(total("cpu", { cycles: 100 }, { running_ratio: 0.31 }),
                                   total("software", { minor_faults: 1 }, { running_ratio: 1 }, "software"));
    const columns = columnsOf(new Map(), new Set(row.values.keys()));

    assert.equal(columns.get("cycles").classes(row), "estimate");
    assert.match(columns.get("cycles").hint(row), /31/);
    assert.equal(columns.get("minor_faults").classes(row), "");
    assert.equal(columns.get("counted").classes(row), "warn");
});

test("a phone shows few columns, a desktop more", () => {
    const columns = columnsOf(new Map(), new Set(["minor_faults", "context_switches", "major_faults", "unit",
        "image"]));

    assert.equal(usual(columns, 360).length, 0);
    assert.ok(usual(columns, 1280).length > 4);
    assert.deepEqual(usual(columns, 1280, new Set(["minor_faults"])), ["minor_faults"]);
});

test("a constant column is not informative", () => {
    const row = (share, unit, faults, name = "a.service") => ({ share, name, names: new Map([["unit", unit]]),
        values: new Map([["faults", { value: faults, starved: false }]]) });
    const columns = columnsOf(new Map(), new Set(["unit", "faults"]));
    const telling = (...rows) => ["counted", "unit", "faults"].filter((key) => isTelling(columns.get(key), rows));

    assert.deepEqual(telling(row(1, "a.service", 0), row(null, "", null)), []);
    assert.deepEqual(telling(row(0.98, "a.service", 0)), ["counted"]);
    assert.deepEqual(telling(row(1, "a.service", 0), row(1, "b.service", 0, "shop/b")), ["unit"]);
    assert.deepEqual(telling(row(1, "a.service", 3)), ["faults"]);
});

// --- the tree

const nested = (...paths) => nest(paths.map((path, i) => ({ path, key: path, n: i })));
const pathsOf = (rows) => rows.map((row) => row.path).join(" ");
const byNumber = (rows) => [...rows].sort((a, b) => b.n - a.n);

test("a cgroup is below its nearest counted ancestor", () => {
    const rows = nested("/a/b/c", "/a", "/ab", "/a/b/c/d", "/x/y");
    const parents = Object.fromEntries(rows.map((row) => [row.path, row.parent?.path ?? null]));

    assert.deepEqual(parents, { "/a/b/c": "/a", "/a": null, "/ab": null, "/a/b/c/d": "/a/b/c", "/x/y": null });
    assert.deepEqual(rows.map((row) => row.depth), [1, 0, 0, 2, 0]);
    assert.equal(nested("/", "/a", "/a/b")[1].parent.path, "/");
    assert.equal(nested("/", "/a")[0].parent, null);
    assert.equal(nested("/__proto__/x", "/__proto__")[0].parent.path, "/__proto__");
    const deep = nested(...Array.from({ length: 2000 }, (_, i) => "/a".repeat(i + 1)));
    assert.equal(deep.at(-1).depth, 1999);
    assert.equal(flatten(deep, (rows) => rows, () => false).length, 2000);
});

test("siblings are sorted below their slice", () => {
    const rows = nested("/s", "/s/a", "/t", "/s/b", "/t/c");

    assert.equal(pathsOf(flatten(rows, byNumber, () => false)), "/t /t/c /s /s/b /s/a");
    assert.equal(pathsOf(flatten(rows, byNumber, (row) => row.path === "/s")), "/t /t/c /s");
    assert.equal(pathsOf(flatten([rows[1], rows[4]], byNumber, () => false)), "/t/c /s/a", "orphans are listed flat");
});

test("matching rows are shown with their ancestors", () => {
    const rows = nested("/s", "/s/a", "/s/a/x", "/s/b", "/t");

    assert.equal(pathsOf(withAncestors(rows, (row) => row.path.endsWith("x"))), "/s /s/a /s/a/x");
    assert.equal(pathsOf(withAncestors(rows, (row) => row.path === "/s")), "/s");
    assert.equal(pathsOf(withAncestors(rows, () => false)), "");
});

test("the URL lists the folded rows, whatever their names", () => {
    const again = (folds) => new Folds(new URLSearchParams(Object.entries(folds.parameters)));
    const folds = new Folds(new URLSearchParams());

    for (const path of ["/a,b", "/100%", "/%2C", "/all"])
        folds.toggle(path);
    for (const path of ["/a,b", "/100%", "/%2C", "/all"])
        assert.ok(again(folds).has(path), path);
    assert.ok(!again(folds).has("/a"));
    folds.setAll(true);
    folds.toggle("/a,b");
    assert.deepEqual([again(folds).has("/x"), again(folds).has("/a,b")], [true, false]);
    folds.toggle("/a,b");
    assert.ok(again(folds).has("/a,b"));
    for (let i = 0; i < 500; i++)
        folds.toggle(`/long-${i}`);
    assert.equal(folds.parameters.unfold, "", "a list that is too long for the URL is omitted");
    assert.ok(new Folds(new URLSearchParams("fold=%E0%A4%A,x%")).has("x%"));
});

// --- lines

const document = { times: [1000, 1030, 1060, 1090], seconds: [0, 30, 30, 15], rows: [
    { cgroup: "/a", derived: { ipc: [null, 1, null, 3] }, events: { faults: [null, 60, 0, 30] } },
    { cgroup: "/a", derived: { ipc: [null, 9, 2, 9] }, events: {} },
    { cgroup: "/__proto__", events: { faults: [null, null, null, null], constructor: [1, 2, 3, 4] } },
    { collector: "cpu", cpu: 0, events: { faults: [1, 1, 1, 1] } },
] };

test("a history becomes lines: gaps stay gaps, and events are per second", () => {
    const { span, lines } = linesOf(document), of = (path, name) => lines.get(path).get(name).map(({ y }) => y);

    assert.equal(span, 300);
    assert.deepEqual(of("/a", "ipc"), [NaN, 1, 2, 3]);
    assert.deepEqual(of("/a", "faults"), [NaN, 2, 0, 2]);
    assert.deepEqual(of("/__proto__", "constructor"), [NaN, 2 / 30, 0.1, 4 / 15]);
    assert.deepEqual(lines.get("/a").get("ipc").map(({ x }) => Math.round(x * 1000)), [700, 800, 900, 1000]);
    assert.equal(lines.size, 2);
    assert.deepEqual(linesOf({}), { span: 300, lines: new Map() });
    assert.deepEqual(linesOf({ times: [1], seconds: [1], rows: [null ?? {}] }).lines, new Map());
    assert.deepEqual([300, 500, 3600].map(titleOfSpan), ["last 5 min", "last 8 min", "last hour"]);
});

test("a line that this tab has recorded covers only the time since its first value", () => {
    const history = { points: () => [{ x: -60, y: 1 }, { x: 0, y: 2 }] };

    assert.deepEqual(lineOf(history, "x", 600), [{ x: 0.9, y: 1 }, { x: 1, y: 2 }]);
});

test("a line of the last hour is a source of values for lines.js", () => {
    const hour = new Hour(), line = [{ x: -1, y: 9 }, { x: 0, y: 4 }, { x: 0.5, y: NaN }, { x: 1, y: 2 }];

    assert.deepEqual([hour.points(), hour.summary().n, hour.summary().last], [[], 0, NaN]);
    assert.equal(hour.take(line, 600), true);
    assert.equal(hour.take(line, 600), false);
    assert.equal(hour.take(line, 700), true);
    hour.take(line, 600);
    assert.deepEqual(hour.points(), [{ x: -600, y: 4 }, { x: -300, y: NaN }, { x: 0, y: 2 }]);
    assert.deepEqual(hour.summary(), { last: 2, lowest: 2, highest: 4, n: 2 });
    assert.equal(hour.span(), 600);
});

test("long and hostile paths are shortened to one line", () => {
    const path = `/docker/${"0123456789abcdef".repeat(4)}`;

    assert.equal(shortText(path), "/docker/0123456789ab…");
    assert.equal(shortText("/\u202egnp.service"), "/\\u202egnp.service");
    assert.ok([...shortText(`/${"😀".repeat(2000)}`)].length <= 121);
    assert.ok(shortText(`/${"😀".repeat(2000)}`).isWellFormed?.() ?? true);
    assert.ok(shortText(`/${"a".repeat(4096)}/end.service`).endsWith("/end.service"));
});

const globs = [
    ["*.service", "ssh.service", true], ["*.service", "a/ssh.service", false], ["**.service", "a/ssh.service", true],
    ["/a.slice/*.service", "/a.slice/ssh.service", true], ["/a.slice/*.service", "/a.slice/x/y.service", false],
    ["/**/y.service", "/a.slice/x/y.service", true], ["?sh*", "ssh.service", true], ["?", "/", false], ["*", "", true],
    ["**", "a/b", true], ["/**/c/*", "/a/c/b/c/d", true], ["/**c/*", "/a/c/b/d", false], ["a*b*c", "aXbYbZc", true],
];

test("glob patterns match", () => {
    for (const [pattern, text, expected] of globs)
        assert.equal(glob(pattern, text), expected, `${pattern} of ${text}`);
    // With backtracking, these patterns would take for ever.
    assert.equal(glob(`${"*a".repeat(50)}b`, "a".repeat(4096)), false);
    assert.equal(glob(`${"**a*".repeat(25)}b`, "a/".repeat(2048)), false);
});

// Returns the rows for some entries of /api/v1/cgroups, all with the same counters.
function rowsNamed(...entries) {
    const cgroups = new Cgroups();

    cgroups.learn({ cgroups: entries });
    return cgroups.rows({ totals: entries.map(({ cgroup }) => total("cpu", { cycles: 1 }, {}, "core", cgroup)) }).rows;
}

test("filters match the path and all names", () => {
    const [one] = rowsNamed({ cgroup: "/a.slice/Web.service", name: "Shop/web", unit: "Web.service", slice: "a.slice",
                              container_id: "0123456789abcdef", container: "shop-web-1", image: "x.org/web:3",
                              pod: "" });

    for (const text of ["", " ", "web", "WEB", "a.slice", "0123", "*.service", "a.*", "/a.slice/*", "0123*", "**/Web*",
        "shop/w", "Shop/*", "shop-*-1", "web*", "image=web:*", "container=shop-*", "image=**/web:?", "unit=Web.service",
        "container=shop-web-1"])
        assert.equal(filterOf(text)(one), true, text);
    for (const text of ["x-", "wex*", "*.slicex", "/b/*", "a[b", "(", "\\", "container=shop", "container=", "pod=*",
        "image=x*", "namespace=**", "name=Shop/web", "__proto__=*"])
        assert.equal(filterOf(text)(one), false, text);
});

test("cgroups have their names as titles, and their paths where two titles are equal", () => {
    const id = "0123456789abcdef".repeat(4);
    const rows = rowsNamed({ cgroup: `/docker/${id}`, name: "shop/db" }, { cgroup: "/a", name: "web" },
                           { cgroup: "/b", name: "web" }, { cgroup: "/c", name: "" }, { cgroup: "/d", name: "/c" },
                           { cgroup: "/e", name: "x\u202e" }, { cgroup: "/f", name: "x\\u202e" });

    assert.deepEqual(rows.map((row) => row.title), ["shop/db", "web /a", "web /b", "/c /c", "/c /d", "x\\u202e /e",
        "x\\u202e /f"]);
    assert.equal(new Set(rows.map((row) => row.title)).size, rows.length);
    const column = columnsOf(new Map(), new Set()).get("cgroup");
    assert.equal(column.text(rows[0]), "shop/db");
    assert.equal(column.hint(rows[0]), `/docker/${id}`);
});

test("the names in a row become columns, each shown as one line of text", () => {
    const rows = rowsNamed({ cgroup: "/a", container: "<b>\u202ex", image: "i".repeat(4096), pod: "" },
                           { cgroup: "/b" });
    const columns = columnsOf(new Map(), new Set(rows.flatMap((row) => [...row.names.keys()])));

    assert.equal(columns.get("container").text(rows[0]), "<b>\\u202ex");
    assert.equal(columns.get("container").hint(rows[0]), "<b>\\u202ex");
    assert.equal(columns.get("container").text(rows[1]), "–");
    assert.ok(columns.get("image").text(rows[0]).length < 130);
    assert.equal(columns.has("pod"), false);
    const names = sorted(rows, columns.get("container"), "desc");
    assert.equal(names.at(-1).path, "/b");
});

test("rows without a value come last in either order, and equal rows keep their order", () => {
    const rows = [["a", 1], ["b", null], ["c", 3], ["d", NaN], ["e", 1], ["f", undefined], ["g", 0]]
        .map(([key, n]) => ({ key, n }));
    const order = (direction) => sorted(rows, { value: (row) => row.n }, direction).map((row) => row.key).join("");

    assert.equal(order("asc"), "gaecbdf");
    assert.equal(order("desc"), "caegbdf");
    const names = ["b10", "b9", "", "a"].map((key) => ({ key }));
    assert.deepEqual(sorted(names, { text: (row) => row.key }, "asc").map((row) => row.key), ["a", "b9", "b10", ""]);
});

test("an opened row is shown even if it is beyond the limit", () => {
    const rows = ["a", "b", "c", "d"].map((key) => ({ key }));

    assert.deepEqual(shownOf(rows, 2, "d").map((row) => row.key), ["a", "b", "d"]);
    assert.deepEqual(shownOf(rows, 2, "a").map((row) => row.key), ["a", "b"]);
    assert.deepEqual(shownOf(rows, 2, null).map((row) => row.key), ["a", "b"]);
});
