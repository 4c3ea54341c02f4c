// SPDX-License-Identifier: Apache-2.0
// Numbers and times as the reader's locale writes them. A value that is not there is an en dash.

export const absent = "–";

const steps = [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"]];
const binary = [[2 ** 40, "TiB"], [2 ** 30, "GiB"], [2 ** 20, "MiB"], [2 ** 10, "KiB"]];
const units = {
    "bytes per second": "B/s", watts: "W", hertz: "Hz", cpus: "CPUs", "per 1000 instructions": "/1000 instr.",
};

function is_number(value) {
    return typeof value === "number" && Number.isFinite(value);
}

// Three digits that matter, whatever the size.
export function digits(value) {
    if (!is_number(value))
        return absent;
    return value.toLocaleString(undefined, { maximumSignificantDigits: 3, maximumFractionDigits: 3 });
}

function scaled(value, table, unit) {
    if (!is_number(value))
        return absent;
    const [step, prefix] = table.find(([size]) => Math.abs(value) >= size) ?? [1, ""];

    return `${digits(value / step)} ${prefix}${unit}`.trim();
}

// 1234567 → "1.23 M"
export function amount(value, unit = "") {
    return scaled(value, steps, unit);
}

export function bytes(value) {
    return scaled(value, [...binary, [1, "B"]], "");
}

export function percent(share) {
    if (!is_number(share))
        return absent;
    return share.toLocaleString(undefined, { style: "percent", maximumSignificantDigits: 3, maximumFractionDigits: 1 });
}

// A derived metric, in the unit that /api/v1/metrics gives it.
export function metric(value, unit, name) {
    if (!is_number(value))
        return absent;
    if (unit === "ratio")
        return name.startsWith("ipc") ? value.toLocaleString(undefined, { maximumFractionDigits: 2 }) : percent(value);
    if (unit === "per 1000 instructions" || unit === "cpus")
        return digits(value);
    return amount(value, units[unit] ?? unit);
}

// The unit as it stands beside a number that metric() wrote, or "".
export function unit_label(unit) {
    return unit === "per 1000 instructions" || unit === "cpus" ? units[unit] : "";
}

// Of a duration in seconds: "2 h 5 min", "12 s".
export function duration(seconds) {
    if (!is_number(seconds))
        return absent;
    const s = Math.round(seconds), min = Math.floor(s / 60), h = Math.floor(min / 60);

    if (h > 0)
        return `${h} h ${min % 60} min`;
    return min > 0 ? `${min} min ${s % 60} s` : `${s} s`;
}

// The time of day, of seconds since 1970.
export function time_of(seconds) {
    return is_number(seconds) ? new Date(seconds * 1000).toLocaleTimeString() : absent;
}
