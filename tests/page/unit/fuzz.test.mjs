// SPDX-License-Identifier: Apache-2.0
// Some inputs of fuzz.mjs, and those that once failed. FUZZ_SEED makes others.
import test from "node:test";
import { fuzz, tryOne } from "./fuzz.mjs";
import { Random } from "./stacks.mjs";

const regressions = [1]; // seeds that fuzz.mjs printed

test("no stream confuses the flame graph", async (t) => {
    const seed = Number(process.env.FUZZ_SEED ?? 20240229);

    t.diagnostic(`seed ${seed}`);
    await fuzz(seed, (n) => n < 500);
});

test("nor does one that once did", async () => {
    for (const seed of regressions)
        await tryOne(new Random(seed));
});
