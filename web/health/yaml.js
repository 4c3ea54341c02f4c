// SPDX-License-Identifier: Apache-2.0
// Writes a document as YAML, in the style of a configuration file of perfcountd.

const plainText = /^([A-Za-z_/][\w./*-]*( [\w./*-]+)*|[\d.]+(ns|us|ms|s|m|h|d))$/;
const words = /^(true|false|yes|no|on|off|null|y|n)$/i; // strings that other YAML parsers read as booleans or null

function scalar(value) {
    if (typeof value !== "string" || (plainText.test(value) && !words.test(value)))
        return String(value);
    return JSON.stringify(value).replace(/[\u007f-\u009f\u2028\u2029]/g, (one) =>
        `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

const isNested = (value) => value !== null && typeof value === "object";
const emptyText = (value) => Array.isArray(value) ? "[]" : "{}";

function lines(value, indent) {
    const within = Object.entries(value).map(([key, one]) => [Array.isArray(value) ? "-" : `${scalar(key)}:`, one]);

    return within.flatMap(([start, one]) => {
        if (!isNested(one))
            return [`${indent}${start} ${scalar(one)}`];
        if (Object.keys(one).length === 0)
            return [`${indent}${start} ${emptyText(one)}`];
        if (start !== "-")
            return [`${indent}${start}`, ...lines(one, `${indent}  `)];
        const [first, ...rest] = lines(one, `${indent}  `);
        return [`${indent}- ${first.trimStart()}`, ...rest];
    });
}

export function yamlOf(document) {
    if (!isNested(document))
        return `${scalar(document)}\n`;
    return Object.keys(document).length === 0 ? `${emptyText(document)}\n` : `${lines(document, "").join("\n")}\n`;
}
