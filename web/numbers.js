// SPDX-License-Identifier: Apache-2.0
// Formats numbers and times for the reader's locale. A missing value is written as an en dash.

export const absent = "–";

const steps = [[1e18, "E"], [1e15, "P"], [1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"]];
const binary = [[2 ** 40, "TiB"], [2 ** 30, "GiB"], [2 ** 20, "MiB"], [2 ** 10, "KiB"]];
const units = {
    "bytes per second": "B/s", watts: "W", hertz: "Hz", cpus: "CPUs", "per 1000 instructions": "/1000 instr.",
};
const least = 1e-6, most = 1e15; // numbers outside this range are written with a power of ten
const leastCpus = 0.005; // a smaller number of CPUs is written as < 0.01
const almost = 1.0005; // factor for rounding: 999.6 is written as 1 k instead of 1,000

const formats = {
    cpus: { minimumFractionDigits: 2, maximumFractionDigits: 2 },
    digits: { maximumSignificantDigits: 3 },
    power: { notation: "scientific", maximumSignificantDigits: 3 },
    percent: { style: "percent", maximumSignificantDigits: 3 },
    hundredths: { maximumFractionDigits: 2 },
    whole: { maximumFractionDigits: 0 },
};
const made = new Map();
const kept = (name, make) => made.get(name) ?? made.set(name, make()).get(name);

// The first use of an Intl formatter takes 35 ms in Chromium, a sixth of all its work before the first number appears.
// Therefore the code below formats numbers for en-US itself, with the same result as Intl. PluralRules is the cheapest
// way to find the locale.
const isAmerican = () => kept("american", () => new Intl.PluralRules().resolvedOptions().locale === "en-US");

// Formats a number as Intl does for en-US: the shortest digits that identify this double, rounded half up.
function american(value, { minimumFractionDigits: least = 0, maximumFractionDigits: most = Infinity,
                           maximumSignificantDigits: significant = Infinity, style }) {
    const [mantissa, power] = Math.abs(value).toExponential().split("e"), known = mantissa.replace(".", "");
    const before = Number(power) + 1 + (style === "percent" ? 2 : 0); // digits before the decimal point
    const n = Math.min(significant, before + most, known.length), zeros = before - n;
    const up = n >= 0 && known[n] >= "5" ? 1n : 0n, rounded = BigInt(known.slice(0, Math.max(0, n))) + up;
    const all = `${rounded}${"0".repeat(Math.max(0, zeros))}`.padStart(1 - zeros, "0");
    const point = all.length - Math.max(0, -zeros), fraction = all.slice(point).replace(/0+$/, "").padEnd(least, "0");
    const whole = all.slice(0, point).replace(/^0+(?=\d)/, "").replace(/\B(?=(\d{3})+$)/g, ",");

    return `${value < 0 ? "-" : ""}${whole}${fraction && "."}${fraction}${style === "percent" ? "%" : ""}`;
}

const intl = (name) => kept(name, () => new Intl.NumberFormat(undefined, formats[name]));

function isNumber(value) {
    return typeof value === "number" && Number.isFinite(value);
}

// Formats a number. Negative zero is written as zero.
function write(format, value) {
    if (!isNumber(value))
        return absent;
    return format !== "power" && isAmerican() ? american(value, formats[format]) : intl(format).format(value + 0);
}

// Formats a number with three significant digits.
export function digits(value) {
    const size = Math.abs(value);

    return write(size >= most || (size > 0 && size < least) ? "power" : "digits", value);
}

function scaled(value, table, unit, smallest = "") {
    if (!isNumber(value))
        return absent;
    const [step, prefix] = table.find(([size]) => Math.abs(value) * almost >= size) ?? [1, smallest];

    return `${digits(value / step)} ${prefix}${unit}`.trim();
}

// 1234567 → "1.23 M"
export function amount(value, unit = "") {
    return scaled(value, steps, unit);
}

export function bytes(value) {
    return scaled(value, binary, "", "B");
}

export function percent(share) {
    return write("percent", share);
}

// Formats nanoseconds: "1.5 ms", "2.25 s".
export function waited(ns) {
    return ns * almost >= 1e9 ? `${digits(ns / 1e9)} s` : `${digits(ns / 1e6)} ms`;
}

// Formats a whole number, for example a number of samples.
export function count(n) {
    return write("whole", n);
}

// Formats a derived metric in the unit that /api/v1/metrics gives.
export function metric(value, unit, name) {
    if (!isNumber(value))
        return absent;
    if (unit === "ratio")
        return name.startsWith("ipc") ? write("hundredths", value) : percent(value);
    if (unit === "cpus")
        return value > 0 && value < leastCpus ? `< ${write("cpus", 2 * leastCpus)}` : write("cpus", value);
    if (unit === "per 1000 instructions")
        return digits(value);
    return amount(value, units[unit] ?? unit);
}

// Returns the unit to show beside a number formatted by metric(), or "" if there is none to add.
export function unitLabel(unit) {
    return unit === "per 1000 instructions" || unit === "cpus" ? units[unit] : "";
}

// Formats a duration in seconds: "2 h 5 min", "12 s".
export function duration(seconds) {
    if (!isNumber(seconds))
        return absent;
    const s = Math.round(seconds), min = Math.floor(s / 60), h = Math.floor(min / 60);

    if (h > 0)
        return `${count(h)} h ${count(min % 60)} min`;
    return min > 0 ? `${count(min)} min ${count(s % 60)} s` : `${count(s)} s`;
}

function timeText(seconds, style) {
    const date = new Date(seconds * 1000), two = (n) => String(n).padStart(2, "0");
    const tail = style === "medium" ? `:${two(date.getSeconds())}` : "";

    if (!isNumber(seconds))
        return absent;
    return isAmerican()
        ? `${date.getHours() % 12 || 12}:${two(date.getMinutes())}${tail} ${date.getHours() < 12 ? "AM" : "PM"}`
        : kept(style, () => new Intl.DateTimeFormat(undefined, { timeStyle: style })).format(date);
}

// Formats seconds since 1970 as a time of day.
export function timeOf(seconds) {
    return timeText(seconds, "medium");
}

// Formats seconds since 1970 as a time of day without seconds.
export function clockOf(seconds) {
    return timeText(seconds, "short");
}

// --- Titles of metrics and events.

const titles = { cpu_utilization: "CPUs", ipc: "IPC", ipc_user: "IPC, user", ipc_kernel: "IPC, kernel",
                 frequency_hertz: "Frequency", cpu_frequency_hertz: "Frequency", task_clock: "CPU time",
                 cpu_migrations: "CPU migrations" };

// A value counted for less than this share of the time is an estimate. perfcountd top uses the same limit.
export const whole = 0.9995;

export function titleOf(name) {
    const words = name.replace(/_ratio$/, "").replaceAll("_", " ").replace(/\bm?pki$/, (unit) => unit.toUpperCase());

    return titles[name] ?? words.charAt(0).toUpperCase() + words.slice(1);
}

// "0-2,5" → [0, 1, 2, 5]. A range of more than 4096 CPUs is truncated.
export function cpusOf(list) {
    return (list ?? "").split(",").filter(Boolean).flatMap((part) => {
        const [first, last = first] = part.split("-").map(Number);

        return Array.from({ length: Math.min(last - first + 1, 4096) }, (_, i) => first + i);
    });
}
