// SPDX-License-Identifier: Apache-2.0
// Tests the sentence about stale numbers, and documents written as YAML.
import assert from "node:assert/strict";
import test from "node:test";
import { sentenceOfAge } from "../../../web/age.js";
import { yamlOf } from "../../../web/health/yaml.js";

test("recent numbers need no sentence", () => {
    assert.equal(sentenceOfAge(6999, "", 7000), "");
    assert.equal(sentenceOfAge(null, "", 7000), "", "no sentence before the first number");
});

test("stale numbers show their age, and why there are no newer ones", () => {
    assert.equal(sentenceOfAge(9000, "", 7000), "These numbers are 9 s old: no answer has arrived since.");
    assert.equal(sentenceOfAge(0, "counting is paused.", 7000), "These numbers are 0 s old: counting is paused.");
    assert.equal(sentenceOfAge(125000, "the last request failed.", 7000),
                 "These numbers are 2 min 5 s old: the last request failed.");
    assert.equal(sentenceOfAge(null, "the last request failed.", 7000), "The last request failed.");
});

test("a document is written as YAML", () => {
    const document = { user: "", web: { listen: ["127.0.0.1:10298", "unix:/run/x.sock"], hosts: [], on: true },
                       groups: [{ name: "core", events: ["{cycles,instructions}"] }, { name: "b", deep: [[1], {}] }],
                       none: null, "a key": -1.5, empty: {}, interval: "10s" };

    assert.equal(yamlOf(document), `user: ""
web:
  listen:
    - "127.0.0.1:10298"
    - "unix:/run/x.sock"
  hosts: []
  "on": true
groups:
  - name: core
    events:
      - "{cycles,instructions}"
  - name: b
    deep:
      - - 1
      - {}
none: null
a key: -1.5
empty: {}
interval: 10s
`);
    assert.deepEqual([yamlOf({}), yamlOf([]), yamlOf("x")], ["{}\n", "[]\n", "x\n"]);
});

test("a string remains a string in YAML, whatever it contains", () => {
    for (const text of ["true", "No", "~", "12", "1.5", "0x1", "1e3", "a: b", "a #b", "- a", "*x", "&x", "!x", "'x", '"',
        "\n", "a\u0085b", "\u2028", " a", "a ", "2026-11-28", "1:30", ".inf", "=", "<<", "%a", "@a", "`",
        "[", "{", "?", "|", ">"])
        assert.match(yamlOf(text), /^"[^\n\u0085\u2028]*"\n$/, JSON.stringify(text));
    for (const text of ["core", "/system.slice/**", "a b", "auto", "10s", "1.5ms", "cpu-clock"])
        assert.equal(yamlOf(text), `${text}\n`);
});
