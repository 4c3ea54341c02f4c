// SPDX-License-Identifier: Apache-2.0
// Runs some inputs of fuzz.mjs, and the inputs that failed earlier. FUZZ_SEED selects other inputs.
import test from "node:test";
import { fuzz, tryOne } from "./fuzz.mjs";
import { Random } from "./stacks.mjs";

const regressions = [1]; // seeds of earlier failures

test("no stream breaks the flame graph", async (t) => {
    const seed = Number(process.env.FUZZ_SEED ?? 20240229);

    t.diagnostic(`seed ${seed}`);
    await fuzz(seed, (n) => n < 500);
});

test("inputs that failed earlier pass", async () => {
    for (const seed of regressions)
        await tryOne(new Random(seed));
});
