// SPDX-License-Identifier: Apache-2.0
// Tests formatted numbers in three locales, each in its own process, and the units of all derived metrics.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";
import { absent, amount, bytes, cpusOf, digits, duration, metric, percent, timeOf, unitLabel } from "../../../web/numbers.js";
import { factsOf } from "../../../web/footer.js";

const module = new URL("../../../web/numbers.js", import.meta.url).href;

// Evaluates expressions in a locale, and returns the results.
function written(locale, ...expressions) {
    const script = `import * as n from ${JSON.stringify(module)};
        const { amount, bytes, digits, duration, metric, percent, count, timeOf, clockOf } = n;
        console.log(JSON.stringify([${expressions.join(",")}]));`;
    const env = { ...process.env, LC_ALL: locale, TZ: "UTC" };

    return JSON.parse(execFileSync(process.execPath, ["--input-type=module", "-e", script], { env }))
        .map((text) => text.replace(/[\u00a0\u202f]/g, " "));
}

test("numbers follow the locale", () => {
    const asked = ["digits(1234.5)", "amount(1234567)", "percent(0.123456)", "count(12345)",
        "metric(1.256, 'ratio', 'ipc')", "bytes(1536)", "duration(7500)", "timeOf(3661)"];

    assert.deepEqual(written("en_US.UTF-8", ...asked),
        ["1,230", "1.23 M", "12.3%", "12,345", "1.26", "1.5 KiB", "2 h 5 min", "1:01:01 AM"]);
    assert.deepEqual(written("de_DE.UTF-8", ...asked),
        ["1.230", "1,23 M", "12,3 %", "12.345", "1,26", "1,5 KiB", "2 h 5 min", "01:01:01"]);
    const arabic = written("ar_EG.UTF-8", ...asked);
    assert.equal(arabic[0], "١٬٢٣٠");
    assert.equal(arabic[1], "١٫٢٣ M");
    assert.match(arabic[2], /^١٢٫٣٪/);
    assert.equal(arabic[6], "٢ h ٥ min");
});

// The page formats en-US with its own code, which must agree with Intl.
test("in en-US, numbers and times are formatted as Intl does", () => {
    const differ = written("en_US.UTF-8", `(() => {
        const intl = (options) => new Intl.NumberFormat("en-US", options), fixed = { maximumFractionDigits: 2 };
        const time = (timeStyle) => new Intl.DateTimeFormat("en-US", { timeStyle });
        const pairs = [[digits, intl({ maximumSignificantDigits: 3 })], [count, intl({ maximumFractionDigits: 0 })],
            [percent, intl({ style: "percent", maximumSignificantDigits: 3 })],
            [(value) => metric(value, "ratio", "ipc"), intl(fixed)],
            [(value) => value > 0 && value < 0.005 ? "0.00" : metric(value, "cpus", "x"),
             intl({ ...fixed, minimumFractionDigits: 2 })]];
        const values = [0, 1.005, 0.045, 9.995, 0.5, 1.5, 99.95, 999.5, 12345.6789, 1e-6, 0.0996, 123456789012345];
        let seed = 1;
        for (let i = 0; i < 3000; i++) {
            seed = (seed * 16807) % 2147483647;
            values.push(seed / 2147483647 * 10 ** (i % 20 - 5), (seed % 100000) / 1000);
        }
        const numbers = [...values, ...values.map((value) => -value)].filter((value) => Math.abs(value) < 1e15 &&
            (value === 0 || Math.abs(value) >= 1e-6));
        const bad = numbers.flatMap((value) => pairs.map(([write, format]) =>
            [value, write(value), format.format(value + 0)])).filter(([, ours, theirs]) => ours !== theirs);
        const times = Array.from({ length: 48 }, (_, i) => 1764330061 + 1800 * i).flatMap((at) => [[at, timeOf(at),
            time("medium").format(new Date(at * 1000))], [at, clockOf(at), time("short").format(new Date(at * 1000))]]);
        return JSON.stringify([...bad, ...times.filter(([, ours, theirs]) => ours !== theirs.replace("\\u202f", " "))]);
    })()`);

    assert.deepEqual(JSON.parse(differ[0]).slice(0, 5), []);
});

test("a value that is not a number is written as an en dash", () => {
    for (const value of [null, undefined, NaN, Infinity, -Infinity, "1", {}])
        for (const write of [digits, amount, bytes, percent, duration, timeOf, (one) => metric(one, "ratio", "ipc")])
            assert.equal(write(value).trim(), absent, `${write.name}(${value})`);
});

test("zero has no sign", () => {
    for (const write of [digits, amount, percent, duration, (one) => metric(one, "ratio", "ipc"),
                         (one) => metric(one, "watts", "package_watts"), bytes])
        assert.doesNotMatch(write(-0), /-/);
    assert.equal(bytes(0), "0 B");
});

test("very large and very small numbers stay short", () => {
    for (const value of [1e21, -1e21, 1.7976931348623157e308, 5e-324, 1e-9, 999999, 999.6, 123456789.123])
        for (const write of [digits, amount])
            assert.ok(write(value).length <= 12, `${value}: ${write(value)}`);
    assert.equal(amount(999.6), "1 k");
    assert.equal(amount(999999), "1 M");
    assert.equal(amount(-1500), "-1.5 k");
});

// All units in `perfcountd list-metrics --json`.
test("every unit of a derived metric is formatted", () => {
    const expected = {
        ratio: ["12.3%", ""], hertz: ["0.123 Hz", ""], cpus: ["0.12", "CPUs"], watts: ["0.123 W", ""],
        "per 1000 instructions": ["0.123", "/1000 instr."], "bytes per second": ["0.123 B/s", ""],
    };

    for (const [unit, [number, label]] of Object.entries(expected)) {
        assert.equal(metric(0.12345, unit, "x"), number);
        assert.equal(unitLabel(unit), label);
    }
    assert.equal(metric(2.4e9, "hertz", "frequency_hertz"), "2.4 GHz");
    assert.equal(metric(1.5, "parsecs", "x"), "1.5 parsecs");
    assert.deepEqual([0, 0.0031, 0.4].map((n) => metric(n, "cpus", "x")), ["0.00", "< 0.01", "0.40"]);
});

const binary = process.env.PERFCOUNTD;

test("the list of units equals the daemon's", { skip: binary ? false : "PERFCOUNTD names no binary" }, () => {
    const { metrics } = JSON.parse(execFileSync(binary, ["list-metrics", "--json"]));
    const known = ["ratio", "hertz", "cpus", "watts", "per 1000 instructions", "bytes per second"];

    assert.deepEqual([...new Set(metrics.map((one) => one.unit))].filter((unit) => !known.includes(unit)), []);
});

test("CPU lists are parsed", () => {
    assert.deepEqual(cpusOf("0-2,5,8-9"), [0, 1, 2, 5, 8, 9]);
    for (const none of ["", undefined, null, "x", "5-2"])
        assert.deepEqual(cpusOf(none), []);
    assert.equal(cpusOf("0-999999999").length, 4096);
});

test("the header shows what is known about the machine", () => {
    const cpus = [{ cpu: 0, seconds: 1 }, { cpu: 1, seconds: 1 }], kernel = "6.1.0";

    assert.equal(factsOf({ model: "Orange Pi 5", soc: "rockchip,rk3588s", kernel, uptime_seconds: 12.9 * 86400,
                           cpu_idle_seconds: cpus }), "Orange Pi 5 · RK3588S · Linux 6.1.0 · up 12 d");
    assert.equal(factsOf({ model: null, soc: null, kernel, uptime_seconds: 7500, cpu_idle_seconds: cpus }),
                 "2 CPUs · Linux 6.1.0 · up 2 h 5 min");
    assert.equal(factsOf({ kernel, uptime_seconds: 61, cpu_idle_seconds: null }), "Linux 6.1.0 · up 1 min");
    assert.equal(factsOf({ model: "\u202ex", kernel }), "\\u202ex · Linux 6.1.0"); // an older daemon sends fewer facts
});
