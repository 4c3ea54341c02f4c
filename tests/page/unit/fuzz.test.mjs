// SPDX-License-Identifier: Apache-2.0
// Some new inputs at each run, and those that once failed.
import test from "node:test";
import { fuzz, try_one } from "./fuzz.mjs";
import { Random } from "./stacks.mjs";

const seconds = 1.5;
const regressions = [1]; // seeds that fuzz.mjs printed

test("no stream confuses the flame graph", async (t) => {
    const seed = Date.now() % 2 ** 31, end = performance.now() + seconds * 1000;

    t.diagnostic(`seed ${seed}`);
    t.diagnostic(`${await fuzz(seed, () => performance.now() < end)} inputs`);
});

test("nor does one that once did", async () => {
    for (const seed of regressions)
        await try_one(new Random(seed));
});
